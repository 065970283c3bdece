// The page of the chat. What others write goes into the page as text only (textContent), never as HTML.
const $ = (id) => document.getElementById(id);
const first_wait = 250, longest_wait = 10_000;   // ms before connecting again

let me = null;             // {name, room}
let socket = null;
let token = '';            // how far we have come in the room: what was missed is sent again
let wait = first_wait;
let retry = 0;             // a timer
let last = null;           // who spoke last

// ---- in and out ------------------------------------------------------------------------------------------

$('enter-form').addEventListener('submit', (event) => {
    event.preventDefault();
    enter($('name').value.trim(), $('room').value.trim());
});
$('leave').addEventListener('click', leave);
window.addEventListener('online', () => { if (me && !socket) connect(); });
// A page that the browser keeps for its back button is not in the room meanwhile.
window.addEventListener('pagehide', disconnect);
window.addEventListener('pageshow', (event) => { if (event.persisted && me) connect(); });

function start() {
    const room = decodeURIComponent(location.hash.slice(1));
    const name = sessionStorage.getItem('name') ?? '';
    $('room').value = room || 'lobby';
    $('name').value = name;
    if (name && room) {
        enter(name, room);
    } else {
        show('enter');
        $('name').focus();
    }
}

function show(what) {
    $('enter').hidden = what !== 'enter';
    $('chat').hidden = what !== 'chat';
}

function enter(name, room) {
    if (!name || !room) return;
    me = { name, room };
    sessionStorage.setItem('name', name);
    history.replaceState(null, '', '#' + encodeURIComponent(room));
    document.title = `#${room} · Weir chat`;
    $('room-name').textContent = room;
    forget();
    show('chat');
    connect();
    $('say').focus();
}

function leave() {
    me = null;
    disconnect();
    sessionStorage.removeItem('name');
    document.title = 'Weir chat';
    show('enter');
    $('name').focus();
}

// ---- the connection --------------------------------------------------------------------------------------

function connect() {
    clearTimeout(retry);
    state('connecting', 'connecting …');
    const where = new URL('connect', location.href.replace(/^http/, 'ws'));
    where.search = new URLSearchParams({ ...me, since: token });
    where.hash = '';
    const opened = new WebSocket(where);
    socket = opened;
    opened.onmessage = (event) => { if (socket === opened) take(JSON.parse(event.data)); };
    opened.onclose = () => {
        if (socket !== opened) return;            // we left
        socket = null;
        again();
    };
}

function disconnect() {
    clearTimeout(retry);
    socket?.close(1000);
    socket = null;
}

// Later each time, and not all at once: a server that comes back has enough to do.
function again() {
    const pause = wait * (0.5 + Math.random() / 2);
    wait = Math.min(wait * 2, longest_wait);
    state('closed', 'reconnecting …');
    retry = setTimeout(connect, pause);
}

function state(name, words) {
    $('status').dataset.state = name;
    $('status').textContent = words;
    $('send').disabled = name !== 'open';
}

$('say-form').addEventListener('submit', (event) => {
    event.preventDefault();
    const text = $('say').value.trim();
    if (!text || socket?.readyState !== WebSocket.OPEN) return;
    socket.send(JSON.stringify({ text }));
    $('say').value = '';
});

// ---- what the server says --------------------------------------------------------------------------------

function take(said) {
    switch (said.kind) {
        case 'welcome':
            wait = first_wait;
            state('open', 'connected');
            if (!said.known) {
                forget();                         // the server has begun anew
            }
            if (said.missed > 0) {
                note(said.missed === 1 ? '1 message is gone' : `${said.missed} messages are gone`);
            }
            break;
        case 'message':
            token = said.token;
            message(said);
            break;
        case 'people':
            $('people').replaceChildren(...said.people.map(person));
            break;
        case 'refused':
            note(said.why);
            break;
    }
}

function forget() {
    token = '';
    last = null;
    $('messages').replaceChildren();
    $('people').replaceChildren();
}

function add(element) {
    const list = $('messages');
    const at_end = list.scrollHeight - list.scrollTop - list.clientHeight < 80;
    list.append(element);
    if (at_end) list.scrollTop = list.scrollHeight;
}

function note(words) {
    last = null;
    const line = make('p', 'note');
    line.textContent = words;
    add(line);
}

function message({ number, from, text, at }) {
    const line = make('div', 'message');
    line.dataset.number = number;
    line.style.setProperty('--hue', hue(from));
    line.classList.toggle('mine', from === me.name);
    line.classList.toggle('first', from !== last);
    last = from;
    const who = make('span', 'who'), name = make('b'), time = make('time'), words = make('span', 'text');
    name.textContent = from;
    const when = new Date(at);
    time.dateTime = when.toISOString();
    time.textContent = when.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    words.textContent = text;
    who.append(name, time);
    line.append(avatar(from), who, words);
    add(line);
}

function person(name) {
    const line = make('li'), words = make('span');
    line.style.setProperty('--hue', hue(name));
    words.textContent = name === me.name ? `${name} (you)` : name;
    line.append(avatar(name), words);
    return line;
}

function avatar(name) {
    const round = make('span', 'avatar');
    round.setAttribute('aria-hidden', 'true');
    round.textContent = [...name][0].toUpperCase();
    return round;
}

function make(tag, name = '') {
    const made = document.createElement(tag);
    made.className = name;
    return made;
}

function hue(name) {
    let sum = 0;
    for (const letter of name) sum = (sum * 31 + letter.codePointAt(0)) % 1009;
    return sum * 137 % 360;
}

start();

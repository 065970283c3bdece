// SPDX-License-Identifier: MIT
// Times are whole microseconds, which Lua's numbers hold exactly for the next 200 years.
//
// If the server's clock was set back, times in the future count as now: no task waits for the old
// time to come again, and nothing passes that the time which has really passed does not allow.
// Refusals write nothing. A wait is exact: a microsecond earlier the answer would be no.

#include "db/redis/limit_scripts.hpp"

namespace weir::redis::detail {

std::string_view time_of_server() noexcept {
    return "local time = redis.call('TIME') "
           "local now = time[1] * 1000000 + time[2]\n";
}

std::string_view token_bucket_script() noexcept {
    return R"lua(
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local level, last, changed = burst, now, false
local kept = redis.call('GET', KEYS[1])
if kept then
    local space = string.find(kept, ' ', 1, true)
    level, last = tonumber(string.sub(kept, 1, space - 1)), tonumber(string.sub(kept, space + 1))
    if last > now then
        last, changed = now, true
    end
end
local function level_at(moment)
    return math.min(burst, level + (moment - last) * rate)
end
local function set(tokens)
    level, last, changed = tokens, now, true
end

local place = 5
for _ = 1, tonumber(ARGV[4]) do
    local weight, taken = tonumber(ARGV[place]), tonumber(ARGV[place + 1])
    local rest = weight - math.max(0, now - taken) * rate
    if rest > 0 then
        set(math.min(burst, level_at(now) + rest))
    end
    place = place + 2
end

local answer = {now}
for i = place, #ARGV do
    local signed = tonumber(ARGV[i])
    local weight = math.abs(signed)
    if weight > burst then
        answer[#answer + 1] = -1
    elseif level_at(now) >= weight then
        set(level_at(now) - weight)
        answer[#answer + 1] = 0
    else
        local wait = math.max(1, math.ceil((weight - level_at(now)) / rate))
        while level_at(now + wait) < weight do
            wait = wait + 1
        end
        while wait > 1 and level_at(now + wait - 1) >= weight do
            wait = wait - 1
        end
        answer[#answer + 1] = wait
        if signed > 0 then
            break
        end
    end
end

if changed and ARGV[3] ~= '1' then
    if level >= burst then
        redis.call('DEL', KEYS[1])
    else
        -- Full again: as if it had never been.
        local filled = math.ceil((burst - level) / rate / 1000) + 1
        redis.call('SET', KEYS[1], string.format('%.17g %.0f', level, last), 'PX',
                   string.format('%.0f', filled))
    end
end
return answer
)lua";
}

std::string_view sliding_window_script() noexcept {
    return R"lua(
local list, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local only_look = ARGV[3] == '1'
local function whole(number)
    return string.format('%.0f', number)
end
local function parts(entry)
    local space = string.find(entry, ' ', 1, true)
    return tonumber(string.sub(entry, 1, space - 1)), tonumber(string.sub(entry, space + 1))
end
local count = math.max(0, redis.call('LLEN', list) - 1)
local used = count > 0 and tonumber(redis.call('LINDEX', list, -1)) or 0

for i = count - 1, 0, -1 do
    local time, weight = parts(redis.call('LINDEX', list, i))
    if time <= now then
        break
    end
    if not only_look then
        redis.call('LSET', list, i, whole(now) .. ' ' .. whole(weight))
    end
end

-- Calls it with time and weight of the entries from a place on, until it gives something.
local function walk(from, found)
    local i = from
    while i < count do
        local entries = redis.call('LRANGE', list, i, math.min(i + 99, count - 1))
        for _, entry in ipairs(entries) do
            local time, weight = parts(entry)
            local result = found(math.min(time, now), weight, i)
            if result then
                return result
            end
            i = i + 1
        end
    end
    return nil
end

local gone = walk(0, function(time, weight, i)
    if time + window > now then
        return i
    end
    used = used - weight
end) or count

local place = 5
local edited = gone > 0
for _ = 1, tonumber(ARGV[4]) do
    local weight, taken = tonumber(ARGV[place]), tonumber(ARGV[place + 1])
    place = place + 2
    for i = count - 1, gone, -1 do
        local time, held = parts(redis.call('LINDEX', list, i))
        if time < taken then
            break
        end
        if time == taken then
            local back = math.min(weight, held)
            used, edited = used - back, true
            redis.call('LSET', list, i, whole(time) .. ' ' .. whole(held - back))
            break
        end
    end
end

local answer = {now}
local added = 0
for i = place, #ARGV do
    local signed = tonumber(ARGV[i])
    local weight = math.abs(signed)
    if weight > limit then
        answer[#answer + 1] = -1
    elseif used + weight <= limit then
        used, added = used + weight, added + weight
        answer[#answer + 1] = 0
    else
        local freed = 0
        answer[#answer + 1] = walk(gone, function(time, held)
            freed = freed + held
            if used - freed + weight <= limit then
                return time + window - now
            end
        end) or window
        if signed > 0 then
            break
        end
    end
end

if only_look or not (edited or added > 0) then
    return answer
end
if used == 0 then
    redis.call('DEL', list)
    return answer
end
if added == 0 then
    redis.call('LSET', list, -1, whole(used))
elseif count == 0 then
    redis.call('DEL', list)
    redis.call('RPUSH', list, whole(now) .. ' ' .. whole(added), whole(used))
else
    local time, held = parts(redis.call('LINDEX', list, -2))
    if time == now then
        redis.call('LSET', list, -2, whole(now) .. ' ' .. whole(held + added))
        redis.call('LSET', list, -1, whole(used))
    else
        redis.call('LSET', list, -1, whole(now) .. ' ' .. whole(added))
        redis.call('RPUSH', list, whole(used))
    end
end
if gone > 0 then
    redis.call('LTRIM', list, gone, -1)
end
redis.call('PEXPIRE', list, whole(math.ceil(window / 1000) + 1))
return answer
)lua";
}

}  // namespace weir::redis::detail

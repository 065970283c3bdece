// SPDX-License-Identifier: MIT
// A site with planted faults. Each line of its first page has one link, so that the place at which
// a report must name it is known.
#pragma once

#include <http/client/tiny_server.hpp>

#include <weir/time.hpp>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace crawl_program_test {

struct planted_fault {
    std::string target;  // as the report names it
    std::string reason;  // part of it
    std::string place;   // 'page:line:column'
};

inline std::string answer_of(int status, const std::string& body = "",
                             const std::string& headers = "") {
    return "HTTP/1.1 " + std::to_string(status) +
           " x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" + headers + "\r\n" +
           body;
}

inline std::string html_answer(const std::string& body, const std::string& headers = "") {
    return answer_of(200, body, "Content-Type: text/html; charset=utf-8\r\n" + headers);
}

// A port that answers whatever comes with HTTP: no partner for TLS.
class plain_port {
public:
    plain_port()
        : listener_(weir::io::listen(weir::io::address::loopback(0))),
          running_(weir::spawn(answer_all())) {}
    weir::task<> stop() {
        running_.cancel();
        co_await running_.wait();
    }
    std::uint16_t number() const { return listener_.local_address().port(); }

private:
    weir::task<> answer_all() {
        const std::string refusal = answer_of(400);
        for (;;) {
            weir::io::socket peer = co_await listener_.accept();
            try {
                std::string hello(1000, ' ');
                co_await peer.read(weir::io::bytes(hello));
                co_await peer.write(refusal);
            } catch (const std::exception&) {
                // The client has gone.
            }
        }
    }

    weir::io::listener listener_;
    weir::handle<void> running_;
};

class faulty_site {
public:
    faulty_site()
        : inside_([this](weir_test::seen_request& request, weir::io::socket& peer) {
              return answer(inside_answers_, "", request, peer);
          }),
          outside_([this](weir_test::seen_request& request, weir::io::socket& peer) {
              return answer(outside_answers_, "out ", request, peer);
          }) {
        plant_statuses();
        plant_network_faults();
        plant_redirects();
        plant_fragments();
        plant_parts();
        plant_outside();
        add_valid_oddities();
        inside_answers_["/"] = html_answer(page_, "Link: </link-header>; rel=next\r\n");
        faults.push_back({in("/link-header"), "status 404", in("/")});
    }

    std::string url() const { return in("/"); }
    weir::task<> stop() {
        co_await inside_.stop();
        co_await outside_.stop();
        co_await plain_.stop();
    }

    std::vector<planted_fault> faults;
    std::map<std::string, int> requests;  // 'GET /x', 'out HEAD /y'

private:
    using answers = std::map<std::string, std::string>;

    std::string in(const std::string& target) const { return inside_.url(target); }
    std::string out(const std::string& target) const { return outside_.url(target, "localhost"); }

    // A line of the page with '@' where the reference stands.
    void add_line(std::string html, const std::string& reference) {
        html.replace(html.find('@'), 1, reference);
        page_ += html + "\n";
        ++lines_;
    }
    void plant(const std::string& html, const std::string& reference, const std::string& target,
               const std::string& reason) {
        faults.push_back({target, reason,
                          in("/") + ":" + std::to_string(lines_ + 1) + ":" +
                              std::to_string(html.find('@') + 1)});
        add_line(html, reference);
    }
    void plant_link(const std::string& path, const std::string& reason) {
        plant("<p>text <a class=x href='@'>y</a>", path, in(path), reason);
    }

    void plant_statuses() {
        for (const int status : {400, 401, 403, 404, 410, 451, 500, 503}) {
            const std::string path = "/status" + std::to_string(status);
            inside_answers_[path] = answer_of(status);
            plant_link(path, "status " + std::to_string(status));
        }
    }
    void plant_network_faults() {
        plant("<a href=@>", "http://nowhere.onion/", "http://nowhere.onion/", "nowhere.onion");
        plant("<a href=@>", "http://127.0.0.1:1/", "http://127.0.0.1:1/", "127.0.0.1");
        const std::string tls = "https://127.0.0.1:" + std::to_string(plain_.number()) + "/";
        plant("<a href=@>", tls, tls, "https://127.0.0.1");
        inside_answers_["/hangs"] = "hang";
        plant_link("/hangs", "");
        inside_answers_["/drips"] = "drip";
        plant_link("/drips", "");
        inside_answers_["/cut"] =
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\nshort";
        plant_link("/cut", "");
        inside_answers_["/garbage"] = "SSH-2.0-OpenSSH\r\n\r\n";
        plant_link("/garbage", "");
        plant("<a href='@'>", "http://[", "http://[", "not a valid URL");
        plant("<a href='@'>", "http://127.0.0.1:99999/", "http://127.0.0.1:99999/",
              "not a valid URL");
        plant("<a href='@'>", "http://exa mple.test/", "http://exa mple.test/", "not a valid URL");
    }
    void plant_redirects() {
        const auto redirect = [this](const std::string& from, const std::string& to) {
            inside_answers_[from] = answer_of(302, "", "Location: " + to + "\r\n");
        };
        redirect("/loop1", "/loop2");
        redirect("/loop2", "/loop1");
        plant_link("/loop1", "redirect loop");
        redirect("/self", "/self");
        plant_link("/self", "redirect loop");
        redirect("/to-missing", "/behind-redirect");
        plant_link("/to-missing", "redirects to " + in("/behind-redirect") + ": ");
        for (int i = 0; i < 20; ++i) {
            redirect("/chain" + std::to_string(i), "/chain" + std::to_string(i + 1));
        }
        plant_link("/chain0", "too many redirects");
        inside_answers_["/nowhere"] = answer_of(302);
        plant_link("/nowhere", "without a Location");
        redirect("/to-bad", "http://[");
        plant_link("/to-bad", "not a valid URL");
        redirect("/to-mail", "mailto:a@b.test");
        plant_link("/to-mail", "not HTTP");
    }
    void plant_fragments() {
        inside_answers_["/anchors"] =
            html_answer("<p id=here><a name=old></a><p id='caf\xC3\xA9'><svg id=drawing></svg>");
        inside_answers_["/moved"] = answer_of(301, "", "Location: /anchors\r\n");
        plant("<a href='@'>", "/anchors#gone", in("/anchors#gone"), "no element with this id");
        plant("<a href='@'>", "#gone", in("/#gone"), "no element with this id");
        plant("<a href='@'>", "/moved#lost", in("/anchors#lost"), "no element with this id");
    }
    void plant_parts() {
        plant("<img src=\"@\" alt=''>", "/a.png", in("/a.png"), "status 404");
        plant("<img srcset=\"@\" alt=''>", "/ok.png 1x, /b,c.png 2x", in("/b,c.png"), "status 404");
        plant("<script src='@'></script>", "/a.js", in("/a.js"), "status 404");
        plant("<link rel=stylesheet href='@'>", "/a.css", in("/a.css"), "status 404");
        plant("<link rel=canonical href='@'>", "/canonical", in("/canonical"), "status 404");
        plant("<meta http-equiv=refresh content='@'>", "900; url=/refresh", in("/refresh"),
              "status 404");
        plant("<iframe src='@'></iframe>", "/frame", in("/frame"), "status 404");
        plant("<video poster='@'></video>", "/poster.jpg", in("/poster.jpg"), "status 404");
        plant("<map><area href='@'></map>", "/area", in("/area"), "status 404");
    }
    void plant_outside() {
        outside_answers_["/403to404"] = "head-403";
        plant("<a href='@'>", out("/gone"), out("/gone"), "status 404");
        plant("<a href='@'>", out("/403to404"), out("/403to404"), "status 404");
        // Twice on this page: one target, two places.
        plant("<a href='@'>", out("/gone"), out("/gone"), "status 404");
    }
    void add_valid_oddities() {
        const auto valid = [this](const std::string& reference) {
            add_line("<a href=\"@\">v</a>", reference);
        };
        for (const char* const each : {"",
                                       "#",
                                       "#top",
                                       "#:~:text=word",
                                       "#!/route",
                                       "/anchors?q=1&amp;r=2",
                                       "  /anchors#here\n ",
                                       "/anchors#old",
                                       "/anchors#caf%C3%A9",
                                       "/anchors#caf\xC3\xA9",
                                       "/anchors#drawing",
                                       "/moved#here",
                                       "\\anchors",
                                       "/x/../anchors",
                                       "/%61nchors",
                                       "/an\tchors",
                                       "mailto:a@b.test",
                                       "tel:+49",
                                       "javascript:void(0)",
                                       "data:text/plain,x",
                                       "ftp://a/b",
                                       "/busy",
                                       "/private/page",
                                       "/no-content",
                                       "/file.pdf#page=2",
                                       "/latin1?\xC3\xA9"}) {
            valid(each);
        }
        lines_ += 1;  // one reference has a line break
        valid("//" + in("/anchors").substr(5 + 2));
        valid("HTTP://127.0.0.1:" + std::to_string(inside_.address().port()) + "/anchors");
        valid(out("/fine#anything"));
        valid(out("/only-get"));
        valid(out("/moved"));
        page_ +=
            "<a>no href</a><a href>empty</a><!-- <a href='/comment'> -->"
            "<script>\"<a href='/in-script'>\"</script><template><a href='/t'></template>"
            "<textarea><a href='/text'></textarea><noscript><a href='/anchors'></noscript>"
            "<link rel=preconnect href='https://nowhere.onion'><form action='/form'></form>"
            "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw=' srcset=' , /ok.png'>";

        inside_answers_["/ok.png"] = answer_of(200, "png", "Content-Type: image/png\r\n");
        inside_answers_["/busy"] = answer_of(429);
        inside_answers_["/no-content"] = "HTTP/1.1 204 No Content\r\n\r\n";
        inside_answers_["/file.pdf"] =
            answer_of(200, "%PDF-1.7", "Content-Type: application/pdf\r\n");
        inside_answers_["/latin1"] = answer_of(200, "<a href='/anchors#here'>\xE9</a>",
                                               "Content-Type: text/html;charset=latin1\r\n");
        inside_answers_["/robots.txt"] =
            answer_of(200, "User-agent: *\nDisallow: /private/\n", "Content-Type: text/plain\r\n");
        outside_answers_["/fine"] = html_answer("<a href='/never-followed'>");
        outside_answers_["/only-get"] = "head-405";
        outside_answers_["/moved"] = answer_of(301, "", "Location: /fine\r\n");
    }

    weir::task<bool> answer(const answers& known, std::string prefix,
                            weir_test::seen_request& request, weir::io::socket& peer) {
        std::string path = request.target();
        path = path.substr(0, path.find('?'));
        const bool is_head = request.head.starts_with("HEAD");
        ++requests[prefix + request.head.substr(0, request.head.find(' ')) + " " + path];
        const auto found = known.find(path);
        std::string text = found == known.end() ? answer_of(404) : found->second;
        if (text == "hang") {
            co_await weir::sleep_forever();
        }
        if (text == "drip") {
            text = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 100000\r\n\r\n";
            for (;;) {
                co_await peer.write(text);
                text = "x";
                co_await weir::sleep(std::chrono::milliseconds(100));
            }
        }
        if (text.starts_with("head-")) {
            const bool is_found = text == "head-405";
            text = is_head ? answer_of(is_found ? 405 : 403) : answer_of(is_found ? 200 : 404);
        }
        if (is_head) {
            text.erase(text.find("\r\n\r\n") + 4);
        }
        co_await peer.write(text);
        co_return text.starts_with("HTTP") && path != "/cut";
    }

    std::string page_ = "<!doctype html><title>Faults</title>\n";
    int lines_ = 1;
    answers inside_answers_;
    answers outside_answers_;
    weir_test::tiny_server inside_;
    weir_test::tiny_server outside_;
    plain_port plain_;
};

}  // namespace crawl_program_test

// SPDX-License-Identifier: MIT
// The scopes of a token: what they allow, in which queues, and lines that are invalid.

#include "service/api/access_rights.hpp"

#include "service/api/token_line.hpp"

#include <weir/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace weir::service::detail;
using enum permission;

std::string message_of(std::string_view line) {
    try {
        token_line::parse(line, 3);
    } catch (const weir::invalid_argument& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST(AccessRights, ImplyOneAnotherInTheirQueues) {
    struct expectation {
        const char* scopes;
        const char* allowed;  // of status, read, submit, admin, metrics, in 'mail/out'
        const char* elsewhere;
    };
    const expectation all[] = {
        {"", "SRUAM", "SRUAM"},
        {"admin", "SRUAM", "SRUAM"},
        {"read", "SR--M", "SR--M"},
        {"submit", "S-U--", "S-U--"},
        {"metrics", "----M", "----M"},
        {"read@mail/*", "SR---", "-----"},
        {"submit@mail/out", "S-U--", "-----"},
        {"submit@mail/o", "-----", "-----"},
        {"admin@mail*", "SRUA-", "-----"},
        {"read,submit@mail/out", "SRU-M", "SR--M"},
        {"read@*", "SR--M", "SR--M"},
        {"submit@a,submit@mail/out,metrics", "S-U-M", "----M"},
    };
    const auto letters = [](const access_rights& rights, std::string_view queue) {
        std::string found;
        for (const auto& [what, letter] :
             {std::pair(status, 'S'), {read, 'R'}, {submit, 'U'}, {admin, 'A'}, {metrics, 'M'}}) {
            found += rights.may(what, queue) ? letter : '-';
        }
        return found;
    };
    for (const expectation& each : all) {
        const access_rights rights = access_rights::parse(each.scopes);
        EXPECT_EQ(letters(rights, "mail/out"), each.allowed) << each.scopes;
        EXPECT_EQ(letters(rights, "other"), each.elsewhere) << each.scopes;
        EXPECT_TRUE(rights.may(any, "other")) << each.scopes;
    }
    EXPECT_FALSE(access_rights::parse("read@a").may_everywhere(read));
    EXPECT_TRUE(access_rights::parse("read@a").may_somewhere(read));
    EXPECT_FALSE(access_rights::parse("metrics").may_somewhere(status));
    EXPECT_EQ(access_rights::parse("read@a").queues(read).single(), "a");
    EXPECT_FALSE(access_rights::parse("read@a*").queues(read).single());
    EXPECT_EQ(access_rights::parse("read@b,read@a,read@b").queues(read).text(),
              access_rights::parse("read@a,read@b").queues(read).text());
}

TEST(AccessRights, WorkersHaveKindsAndQueues) {
    struct expectation {
        const char* scopes;
        const char* kind;
        const char* queue;
        bool is_allowed;
    };
    const expectation all[] = {
        {"worker", "resize", "any", true},
        {"worker@images", "resize", "images", true},
        {"worker@images", "resize", "mail", false},
        {"worker:resize", "resize", "any", true},
        {"worker:resize", "thumb", "any", false},
        {"worker:resize,thumb@images", "resize", "images", true},
        {"worker:resize,thumb@images", "thumb", "images", true},
        {"worker:resize,thumb@images", "thumb", "mail", false},
        {"worker:img/*@images*", "img/small", "images/a", true},
        {"worker:img/*@images*", "img", "images", false},
        {"read,worker:a,b,submit@q", "b", "any", true},
        {"worker:a@x,worker:b@y", "a", "y", false},
        {"worker:a@x,worker:b@y", "b", "y", true},
        {"worker:a@x,worker:a@y", "a", "y", true},
        {"worker:read,admin@q", "read", "any", true},  // a kind, and the scope admin@q
        {"admin", "a", "any", true},
        {"admin@q", "a", "q", true},
        {"admin@q", "a", "r", false},
        {"read,submit,metrics", "a", "q", false},
        {"", "a", "q", true},
    };
    for (const expectation& each : all) {
        const access_rights rights = access_rights::parse(each.scopes);
        EXPECT_EQ(rights.worker_queues(each.kind).matches(each.queue), each.is_allowed)
            << each.scopes << " " << each.kind << " " << each.queue;
    }
    const access_rights worker_only = access_rights::parse("worker:a@q");
    for (const permission what : {status, read, submit, admin, metrics}) {
        EXPECT_FALSE(worker_only.may_somewhere(what));
    }
    EXPECT_TRUE(worker_only.may(worker, "q"));
    EXPECT_TRUE(access_rights::parse("worker:a,submit@q").may(submit, "q"));
}

TEST(TokenLine, HasATokenAndPerhapsANameAndScopes) {
    const token_line plain = token_line::parse("0123456789abcdef", 3);
    EXPECT_EQ(plain.secret, "0123456789abcdef");
    EXPECT_EQ(plain.name, "token-3");
    EXPECT_TRUE(plain.rights.may_everywhere(admin));
    for (const char* each :
         {"0123456789abcdef name=ci submit@a", "0123456789abcdef\tsubmit@a  name=ci "}) {
        const token_line named = token_line::parse(each, 1);
        EXPECT_EQ(named.name, "ci");
        EXPECT_TRUE(named.rights.may(submit, "a"));
        EXPECT_FALSE(named.rights.may(submit, "b"));
    }
}

TEST(TokenLine, SaysWhatIsWrongWithoutTheToken) {
    const std::pair<const char*, const char*> wrong[] = {
        {"short read", "shorter than 16"},
        {"0123456789abcdef write", "there is no scope 'write'"},
        {"0123456789abcdef read,", "there is no scope"},
        {"0123456789abcdef ,read", "there is no scope"},
        {"0123456789abcdef read,,submit", "there is no scope"},
        {"0123456789abcdef Read", "there is no scope 'Read'"},
        {"0123456789abcdef worker:", "after 'worker:'"},
        {"0123456789abcdef worker:a,", "after 'worker:'"},
        {"0123456789abcdef worker:,a", "after 'worker:'"},
        {"0123456789abcdef worker:a*b", "after 'worker:'"},
        {"0123456789abcdef worker:a@", "after '@'"},
        {"0123456789abcdef worker:a@b,", "there must be another scope"},
        {"0123456789abcdef worker:a@b,c", "there must be another scope"},
        {"0123456789abcdef workers", "there is no scope 'workers'"},
        {"0123456789abcdef read@", "after '@'"},
        {"0123456789abcdef read@*a", "after '@'"},
        {"0123456789abcdef read@a**", "after '@'"},
        {"0123456789abcdef metrics@a", "not for single queues"},
        {"0123456789abcdef read submit", "with commas: 'read,submit'"},
        {"0123456789abcdef name=", "name=NAME"},
        {"0123456789abcdef name=a/b", "name=NAME"},
        {"0123456789abcdef name=a name=b", "name=NAME"},
    };
    for (const auto& [line, expected] : wrong) {
        const std::string message = message_of(line);
        EXPECT_NE(message.find(expected), std::string::npos) << line << ": " << message;
        EXPECT_NE(message.find("token 3: "), std::string::npos) << message;
        EXPECT_EQ(message.find("0123456789"), std::string::npos) << message;
    }
}

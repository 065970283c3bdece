// SPDX-License-Identifier: MIT
// The API over real sockets, with a SQLite file: as curl sees it, and Python's JSON Schema, which
// judges the description.

#include "support/io.hpp"
#include "support/peers.hpp"

#include <weir/http/json.hpp>
#include <weir/http/server.hpp>
#include <weir/io/listener.hpp>
#include <weir/service/api.hpp>
#include <weir/service/sqlite_store.hpp>
#include <weir/weir.hpp>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

namespace bj = boost::json;
namespace http = weir::http;
using namespace std::chrono_literals;
using namespace weir::service;
using namespace weir_test;

// However the visit ends, the service has ended before it is destroyed.
weir::task<> serve_and_visit(store& kept, std::function<weir::task<>(std::string url)> visit,
                             api_options options) {
    service tasks(kept);
    tasks.handle("echo", [](job& job) -> weir::task<bj::value> { co_return job.payload(); });
    weir::io::listener door = weir::io::listen(weir::io::address::loopback(0));
    const std::string url = "http://" + door.local_address().text();
    auto body = [&](weir::task_group& group) -> weir::task<> {
        group.spawn(tasks.run());
        group.spawn(http::serve(std::move(door), make_api(tasks, options)));
        co_await visit(url);
        group.cancel();
    };
    co_await weir::with_group(body);
}

weir::task<> with_service(std::function<weir::task<>(std::string url)> visit,
                          api_options options = {}) {
    const temporary_folder folder;
    std::unique_ptr<store> kept = co_await open_sqlite_store((folder.path() / "tasks.db").string());
    auto close = [&]() -> weir::task<> { co_await kept->close(); };
    co_await weir::finally(serve_and_visit(*kept, std::move(visit), std::move(options)), close);
}

// The commands on the first page of the documentation.
weir::task<> first_steps(std::string url) {
    const weir::command_result result =
        co_await curl({"-i", "-H", "Content-Type: application/json", "-d",
                       R"({"kind": "echo", "payload": {"hello": "world"}})", url + "/tasks"});
    EXPECT_NE(result.out.find("HTTP/1.1 202 Accepted\r\n"), std::string::npos) << result.out;
    const std::string id(
        http::parse_json(result.out.substr(result.out.find("\r\n\r\n") + 4)).at("id").as_string());
    EXPECT_NE(result.out.find("Location: /tasks/" + id), std::string::npos) << result.out;
    bj::value task;
    for (int i = 0; i < 500; ++i) {
        const weir::command_result polled = co_await curl({url + "/tasks/" + id});
        task = http::parse_json(polled.out);
        if (task.at("status") == "completed") {
            break;
        }
        co_await weir::sleep(10ms);
    }
    EXPECT_EQ(task.at("status"), "completed");
    EXPECT_EQ(task.at("result").at("hello"), "world");
    const weir::command_result page = co_await curl(
        {"-o", "/dev/null", "-w", "%{http_code}", "-H", "Origin: https://evil.example", "-H",
         "Content-Type: application/json", "-d", R"({"kind": "echo"})", url + "/tasks"});
    EXPECT_EQ(page.out, "403");
}

constexpr std::string_view judge = R"py(
import json, sys, urllib.request
from jsonschema import Draft202012Validator, RefResolver

url = sys.argv[1]
get = lambda path: json.load(urllib.request.urlopen(url + path))
document = get('/openapi.json')
assert document['openapi'].startswith('3.1'), document['openapi']
schemas = document['components']['schemas']
for name, schema in schemas.items():
    Draft202012Validator.check_schema(schema)

def resolve(pointer):
    at = document
    for word in pointer[2:].split('/'):
        at = at[word]
    return at

def walk(value):
    if isinstance(value, dict):
        if '$ref' in value:
            resolve(value['$ref'])
        for each in value.values():
            walk(each)
    elif isinstance(value, list):
        for each in value:
            walk(each)
walk(document)

names = set()
for path, item in document['paths'].items():
    shared = item.get('parameters', [])
    for method, operation in item.items():
        if method == 'parameters':
            continue
        assert operation['operationId'] not in names
        names.add(operation['operationId'])
        assert operation['responses'] and operation['summary']
        for code, answer in operation['responses'].items():
            answer = resolve(answer['$ref']) if '$ref' in answer else answer
            assert 'description' in answer
        parameters = [resolve(p['$ref']) if '$ref' in p else p for p in shared + operation.get('parameters', [])]
        inside = {p['name'] for p in parameters if p['in'] == 'path'}
        assert inside == {w[1:-1] for w in path.split('/') if w.startswith('{')}, path
        for p in parameters:
            Draft202012Validator.check_schema(p['schema'])

resolver = RefResolver.from_schema(document)
def fits(name, value):
    Draft202012Validator({'$ref': '#/components/schemas/' + name}, resolver=resolver).validate(value)
def post(path, value):
    request = urllib.request.Request(url + path, json.dumps(value).encode(), {'Content-Type': 'application/json'})
    return json.load(urllib.request.urlopen(request))

task = {'kind': 'echo', 'payload': [1], 'tags': ['a'], 'backoff': {'initial': 0.5}, 'delay': 5}
fits('NewTask', task)
made = post('/tasks', task)
fits('Submitted', made)
fits('Task', get('/tasks/' + made['id']))
fits('TaskPage', get('/tasks'))
fits('BatchResult', post('/tasks/batch', [task, {'kind': ''}]))
fits('Reasons', get('/tasks/' + made['id'] + '/why'))
fits('Queues', get('/queues'))
fits('Stats', get('/stats'))
operation = {'action': 'cancel', 'filter': {'queue': 'default'}, 'dry_run': True, 'limit': 5}
fits('NewOperation', operation)
fits('Operation', post('/operations', operation))
fits('Operations', get('/operations'))
fits('Keys', get('/queues/default/keys'))
fits('Key', get('/queues/default/keys/a'))
fits('Destinations', get('/destinations'))
fits('StatsHistory', get('/stats/history'))
print('well', len(names))
)py";

weir::task<> judged(std::string url) {
    need("/usr/lib/python3/dist-packages/jsonschema", "python3-jsonschema");
    const weir::command_result verdict = co_await python(std::string(judge), {url});
    EXPECT_EQ(verdict.out, "well 64\n") << verdict.err;
}

}  // namespace

WEIR_IO_TEST(ServiceCurl, TheFirstStepsWork) {
    co_await with_service(&first_steps);
}

// A visit that throws, as one that is skipped does, must not destroy a running service.
WEIR_IO_TEST(ServiceCurl, AVisitThatThrowsEndsTheService) {
    auto fails = [](std::string url) -> weir::task<> {
        co_await first_steps(url);
        throw std::runtime_error("the visit failed");
    };
    try {
        co_await with_service(fails);
        ADD_FAILURE() << "it did not throw";
    } catch (const weir::error_group& errors) {
        EXPECT_NE(errors.find<std::runtime_error>(), nullptr);
    }
    co_await weir::sleep(1ms);  // nothing is left to run
}

TEST(ServiceCurl, TheDescriptionIsOne) {
    run_io(weir::driver_kind::automatic, +[]() -> weir::task<> { return with_service(&judged); });
}

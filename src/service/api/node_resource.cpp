// SPDX-License-Identifier: MIT
// What a node runs is a question for GET /tasks?state=running: each task names its node.

#include "service/api/node_resource.hpp"

#include "service/api/json/json_body.hpp"
#include "service/api/json/json_writer.hpp"

#include <vector>

namespace weir::service::detail {

namespace {

void write_node(json_writer& json, const node_info& node) {
    json.begin_object();
    json.member("id", node.id).member("host", node.host).member("pid", node.pid);
    json.member("started_at", node.started_at);
    json.member("is_alive", node.is_alive);
    json.member("lease_until", node.lease_until);
    json.member("heard_at", node.heard_at);
    json.member("is_self", node.is_self);
    json.member("running", node.running);
    json.end_object();
}

}  // namespace

route_list node_resource::routes() {
    return {{http::method::get, "/nodes", permission::read, queue_reach::all, *this,
             &node_resource::list}};
}

answer node_resource::list(http::request&) {
    const std::vector<node_info> nodes = co_await tasks_.nodes();
    co_return json_object([&](json_writer& json) {
        json.key("nodes").begin_array();
        for (const node_info& each : nodes) {
            write_node(json, each);
        }
        json.end_array();
    });
}

}  // namespace weir::service::detail

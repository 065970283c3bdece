// SPDX-License-Identifier: MIT
// A context is an SSL_CTX that is set up once and then only read, on any thread: OpenSSL counts
// references atomically and locks the caches inside it. A reload makes another one, which takes its
// place; connections keep the one under which they began. Client sessions are not kept by OpenSSL,
// whose store has no hosts; see session_cache.cpp.

#include "io/tls/context_rules.hpp"
#include "io/tls/tls_state.hpp"

#include <weir/error.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/io/tls_context.hpp>

namespace weir::tls {

namespace detail {

context_state::context_state(context_rules rules, context::host_chooser choose)
    : rules_(std::move(rules)),
      alpn_(rules_.alpn),
      choose_(std::move(choose)),
      sessions_(rules_.is_server ? 0 : rules_.cached_sessions),
      is_server_(rules_.is_server),
      ssl_(build(rules_)) {}

std::shared_ptr<SSL_CTX> context_state::ssl() const {
    const std::lock_guard lock(guard_);
    return ssl_;
}

void context_state::reload() {
    const std::lock_guard one_at_a_time(reloading_);
    use(build(rules_));
}

void context_state::replace_certificate(const certificate& fresh) {
    const std::lock_guard one_at_a_time(reloading_);
    context_rules changed = rules_;
    changed.identity = {
        {}, {}, fresh.certificate_pem, fresh.key_pem, changed.identity.key_password};
    use(build(changed));
    rules_ = std::move(changed);
}

std::shared_ptr<SSL_CTX> context_state::build(const context_rules& rules) {
    std::shared_ptr<SSL_CTX> made(rules.build());
    if (rules.is_server && !alpn_.empty()) {
        SSL_CTX_set_alpn_select_cb(made.get(), &negotiation_callbacks::protocols_offered, this);
    }
    return made;
}

// Sessions of the old context are not resumed: they would skip the check of certificates that the
// new one may refuse. A server's tickets end with its SSL_CTX.
void context_state::use(std::shared_ptr<SSL_CTX> fresh) {
    sessions_.clear();
    const std::lock_guard lock(guard_);
    ssl_.swap(fresh);
}

}  // namespace detail

context context::client(const client_options& options) {
    return context(
        std::make_shared<detail::context_state>(detail::context_rules(options), host_chooser()));
}

context context::server(const server_options& options) {
    return server(options, host_chooser());
}

context context::server(const server_options& options, host_chooser choose) {
    return context(
        std::make_shared<detail::context_state>(detail::context_rules(options), std::move(choose)));
}

void context::reload() const {
    state_->reload();
}

void context::replace_certificate(const certificate& fresh) const {
    state_->replace_certificate(fresh);
}

bool context::is_server() const noexcept {
    return state_->is_server();
}

std::size_t context::kept_sessions() const {
    return state_->sessions().size();
}

}  // namespace weir::tls

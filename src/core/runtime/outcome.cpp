// SPDX-License-Identifier: MIT
// An intercepted stop remembers the scope it was aimed at; a repeated request must not hit another
// scope at the same address, so the serial number is compared too. An error of type 'refused'
// becomes a refusal, so that callers handle thrown and returned refusals alike.

#include <weir/outcome.hpp>

#include <typeinfo>

namespace weir::detail {

stop_origin origin_of(fiber& on, frame* target) noexcept {
    const bool is_fiber = target == static_cast<frame*>(&on);
    return {&on, target, is_fiber ? 0 : static_cast<scope*>(target)->serial};
}

frame* find_origin(fiber& on, std::uint32_t tag) noexcept {
    if (tag == stop_origin::whole_fiber) {
        return &on;
    }
    for (scope* each = on.scopes; each != nullptr; each = each->outer) {
        if (each->serial == tag) {
            return each;
        }
    }
    return nullptr;
}

bool ask_again(const stop_origin& origin, std::string_view reason) noexcept {
    fiber* on = this_thread.running;
    frame* target = on == origin.on ? find_origin(*on, origin.tag()) : nullptr;
    if (target == nullptr) {
        return false;
    }
    set_stop_reason(*on, target, reason);
    request_again(*on, target);
    return true;
}

thrown_stop find_thrown_stop(fiber& on, const std::exception_ptr& error) noexcept {
    if (!is_cancellation(error)) {
        return {};
    }
    try {
        std::rethrow_exception(error);
    } catch (const cancelled& stop) {
        frame* target = find_origin(on, stop.origin());
        const bool is_foreign = target == static_cast<frame*>(&on) && on.cancel_count == 0;
        return {is_foreign ? nullptr : target, stop.reason()};
    }
}

void resume_thrown_stop(fiber& on, const std::exception_ptr& error) noexcept {
    const thrown_stop thrown = find_thrown_stop(on, error);
    if (thrown.target != nullptr) {
        restore_stop_reason(on, thrown.target, thrown.reason);
        request_again(on, thrown.target);
    }
}

std::string take_reason(const stop_origin& origin) {
    std::string reason(stop_reason(*origin.on, origin.target));
    request_answered(*origin.on, origin.target);
    return reason;
}

const refusal* refusal_in(const std::exception_ptr& error) noexcept {
#ifdef __GLIBCXX__
    if (error == nullptr || *error.__cxa_exception_type() != typeid(refused)) {
        return nullptr;  // without the cost of throwing it
    }
#endif
    try {
        std::rethrow_exception(error);
    } catch (const refused& found) {
        return &found.why();  // as long as the error itself
    } catch (...) {
        return nullptr;
    }
}

}  // namespace weir::detail

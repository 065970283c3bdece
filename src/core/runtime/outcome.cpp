// SPDX-License-Identifier: MIT
// An intercepted stop remembers the scope it was aimed at; asking for it again must not hit another
// scope that has come to live at the same address, so the serial number is compared too. An error
// that says 'refused' becomes a refusal, so that the caller need not care whether it was thrown.

#include <weir/detail/cleanup.hpp>
#include <weir/outcome.hpp>

#include <typeinfo>

namespace weir::detail {

stop_origin origin_of(fiber& on, frame* target) noexcept {
    const bool whole = target == static_cast<frame*>(&on);
    return {&on, target, whole ? 0 : static_cast<scope*>(target)->serial};
}

bool ask_again(const stop_origin& origin) noexcept {
    fiber* on = this_thread.running;
    if (on != origin.on) {
        return false;
    }
    if (origin.target == static_cast<frame*>(on)) {
        request_stop_of(*on, on);
        return true;
    }
    for (scope* each = on->scopes; each != nullptr; each = each->outer) {
        if (static_cast<frame*>(each) == origin.target && each->serial == origin.serial) {
            request_stop_of(*on, each);
            return true;
        }
    }
    return false;
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

// SPDX-License-Identifier: MIT
// Mail: the way to a loop from another thread that allocates nothing. An object that lives until
// the loop has seen it, such as an operation in a waiting frame, is sent itself; for everything
// else there is loop.post.
#pragma once

#include <memory>

namespace weir {

class loop;

namespace detail {

struct inbox;

class mail_item {
public:
    mail_item() noexcept = default;
    mail_item(const mail_item&) = delete;
    mail_item& operator=(const mail_item&) = delete;

    // On the loop's thread, between the steps of fibers, in the order of sending.
    virtual void arrive(loop& at) noexcept = 0;
    // The loop was closed first; on the thread that closes it.
    virtual void get_lost() noexcept {}

protected:
    ~mail_item() = default;

private:
    friend struct inbox;
    mail_item* next_ = nullptr;
};

// From any thread: the item arrives at the loop, which is woken if it sleeps. False, and it never
// arrives, if the loop is closed. Otherwise it may have arrived, and be gone, when this returns.
bool send_mail(std::shared_ptr<inbox> to, mail_item& item) noexcept;

}  // namespace detail
}  // namespace weir

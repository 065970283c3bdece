// SPDX-License-Identifier: MIT
// Redis names the kind of an error in the first word of its message.

#include <weir/db/redis/error.hpp>

namespace weir::redis {

reply_error::reply_error(const std::string& message)
    : db::error(message, message.starts_with("BUSY") || message.starts_with("LOADING") ||
                                 message.starts_with("TRYAGAIN") ||
                                 message.starts_with("MASTERDOWN")
                             ? db::retry_advice::yes
                             : db::retry_advice::no),
      kind_(message.substr(0, message.find(' '))) {}

}  // namespace weir::redis

// SPDX-License-Identifier: MIT
// sink: an output of a crawl that can be resumed. A crawl gives every page, once it is settled, to
// each of its sinks, and stores how far they have got in the same transaction as the pages:
//
//     write(page), write(page), ...   append to a buffer
//     flush()                         what was written is on disk; returns the position
//     (the crawl commits the pages together with that position)
//
// After a crash, open(position) cuts the output to the position that was committed, and the pages
// after it are written again: no page is missing, doubled or torn.
#pragma once

#include <weir/crawl/page.hpp>
#include <weir/task.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::crawl {

class sink {
public:
    static constexpr std::string_view nothing_written = "0";

    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    virtual ~sink() = default;

    // Unique within a crawl, and the same after a restart: the key of its position.
    virtual std::string_view name() const noexcept = 0;
    // With such a sink a page also has what was sent and received: the headers of the request, the
    // body before decompression, and the bodies of errors and redirects.
    virtual bool wants_raw_body() const noexcept { return false; }

    // Before the first write. `position` is what the last committed flush() returned. Empty: the
    // crawl opens this output for the first time, and must not overwrite another one.
    // nothing_written: it has opened it before, and a crash may have left something in it. Throws
    // if the output cannot be continued there, with the reason.
    virtual task<> open(std::string position) = 0;
    // One page, in the order of settling. Copies what it needs, to memory.
    virtual void write(const page& settled) = 0;
    // Bytes that write() has put into memory: the crawl flushes early if they get many.
    virtual std::size_t buffered() const noexcept = 0;
    // All writes before this call are on disk when it returns. Writes during it belong to the next
    // flush, so what is to be flushed has to be set aside before the first suspension. The crawl
    // calls it once at a time, and for all sinks together.
    virtual task<std::string> flush() = 0;
    // After the last flush. `is_complete`: nothing is left to be fetched, so that work at the end
    // (rewriting the links of a mirror, closing an XML element) can be done.
    virtual task<> close(bool is_complete) = 0;

protected:
    sink() = default;
};

}  // namespace weir::crawl

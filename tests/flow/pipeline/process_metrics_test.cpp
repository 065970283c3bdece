// SPDX-License-Identifier: MIT
// The metrics of the process that runs the tests.

#include <support/metrics_page.hpp>

#include <weir/flow/process_metrics.hpp>
#include <weir/flow/prometheus.hpp>

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

double value_of(const std::string& page, const std::string& name) {
    const std::size_t begin = page.find("\n" + name + " ");
    EXPECT_NE(begin, std::string::npos) << name;
    return begin == std::string::npos ? -1 : std::atof(page.c_str() + begin + name.size() + 2);
}

std::string page_of(const weir::process_metrics& process) {
    weir::prometheus_writer page;
    process.write_metrics(page);
    return page.text();
}

TEST(ProcessMetrics, AreThoseOfThisProcess) {
    const weir::process_metrics process;
    const std::string page = page_of(process);
    EXPECT_EQ(weir_test::complaint_about(page), "") << page;
    EXPECT_GE(value_of(page, "process_cpu_seconds_total"), 0);
    EXPECT_GT(value_of(page, "process_resident_memory_bytes"), 1 << 20);
    EXPECT_GT(value_of(page, "process_virtual_memory_bytes"),
              value_of(page, "process_resident_memory_bytes"));
    EXPECT_GT(value_of(page, "process_max_fds"), value_of(page, "process_open_fds"));
    const double now =
        std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    EXPECT_GT(value_of(page, "process_start_time_seconds"), now - 600);
    EXPECT_LT(value_of(page, "process_start_time_seconds"), now + 5);
}

TEST(ProcessMetrics, CountOpenDescriptors) {
    const weir::process_metrics process;
    const double before = value_of(page_of(process), "process_open_fds");
    EXPECT_GE(before, 1);
    const int opened[] = {::open("/dev/null", O_RDONLY | O_CLOEXEC),
                          ::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(value_of(page_of(process), "process_open_fds"), before + 2);
    for (const int each : opened) {
        ::close(each);
    }
    EXPECT_EQ(value_of(page_of(process), "process_open_fds"), before);
}

TEST(ProcessMetrics, CountCpuTime) {
    const weir::process_metrics process;
    const double before = value_of(page_of(process), "process_cpu_seconds_total");
    double after = before;
    while (after < before + 0.01) {
        after = value_of(page_of(process), "process_cpu_seconds_total");
    }
    EXPECT_LT(after, before + 10);
}

}  // namespace

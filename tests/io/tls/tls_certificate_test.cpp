// SPDX-License-Identifier: MIT
// Generated certificates: their names, issuers and validity.

#include "io/tls/tls_openssl.hpp"

#include <weir/error.hpp>
#include <weir/io/tls_certificate.hpp>
#include <weir/io/tls_context.hpp>

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <chrono>
#include <string>

namespace {

using namespace std::chrono_literals;
namespace tls = weir::tls;
using namespace weir::tls::detail;

certificate_pointer parse(const std::string& pem) {
    const bio_pointer text = bio_over(pem);
    return certificate_pointer(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
}

bool is_for_host(X509* checked, const char* host) {
    return X509_check_host(checked, host, 0, 0, nullptr) == 1;
}

TEST(TlsCertificate, IsForItsNamesAndByItsAuthority) {
    const tls::certificate_authority authority("Test Authority");
    const tls::certificate issued =
        authority.issue({.names = "good.example,*.wild.example,127.0.0.1"});
    const certificate_pointer site = parse(issued.certificate_pem);
    const certificate_pointer root = parse(authority.certificate_pem());
    ASSERT_TRUE(site != nullptr && root != nullptr);
    EXPECT_EQ(text_of(X509_get_subject_name(site.get())), "CN=good.example");
    EXPECT_EQ(text_of(X509_get_issuer_name(site.get())), "CN=Test Authority");
    EXPECT_TRUE(is_for_host(site.get(), "good.example"));
    EXPECT_TRUE(is_for_host(site.get(), "a.wild.example"));
    EXPECT_FALSE(is_for_host(site.get(), "other.example"));
    EXPECT_EQ(X509_check_ip_asc(site.get(), "127.0.0.1", 0), 1);
    EXPECT_EQ(X509_verify(site.get(), X509_get0_pubkey(root.get())), 1);
    EXPECT_EQ(X509_check_ca(site.get()), 0);
    EXPECT_NE(X509_get_extension_flags(site.get()) & EXFLAG_BCONS, 0U);
    EXPECT_EQ(X509_check_ca(root.get()), 1);
}

TEST(TlsCertificate, BeginsAndEndsAsAsked) {
    const tls::certificate past =
        tls::make_self_signed({.names = "a.example", .begins = -48h, .lasts = 24h});
    const certificate_pointer expired = parse(past.certificate_pem);
    EXPECT_EQ(X509_cmp_current_time(X509_get0_notBefore(expired.get())), -1);
    EXPECT_EQ(X509_cmp_current_time(X509_get0_notAfter(expired.get())), -1);
    const tls::certificate now = tls::make_self_signed({.names = "a.example"});
    const certificate_pointer valid = parse(now.certificate_pem);
    EXPECT_EQ(X509_cmp_current_time(X509_get0_notBefore(valid.get())), -1);
    EXPECT_EQ(X509_cmp_current_time(X509_get0_notAfter(valid.get())), 1);
}

TEST(TlsCertificate, ASelfSignedOneServesAContext) {
    const tls::certificate made = tls::make_self_signed({.names = "localhost"});
    const certificate_pointer own = parse(made.certificate_pem);
    EXPECT_EQ(text_of(X509_get_issuer_name(own.get())), "CN=localhost");
    EXPECT_NO_THROW(
        tls::context::server({.certificate_pem = made.certificate_pem, .key_pem = made.key_pem}));
}

TEST(TlsCertificate, RefusesBadNames) {
    const tls::certificate_authority authority("Test Authority");
    EXPECT_THROW(authority.issue({.names = ""}), weir::invalid_argument);
    EXPECT_THROW(authority.issue({.names = "a,,b"}), weir::invalid_argument);
    EXPECT_THROW(authority.issue({.names = "a{b"}), weir::invalid_argument);
    EXPECT_THROW(authority.issue({.names = "a@b"}), weir::invalid_argument);
    EXPECT_NO_THROW(authority.issue({.names = "az.AZ-09_.example,::1"}));
}

}  // namespace

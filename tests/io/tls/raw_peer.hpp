// SPDX-License-Identifier: MIT
// The other side of a connection as bare OpenSSL, for what our streams never do by themselves.
#pragma once

#include "support.hpp"

#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace tls_tests {

class raw_peer {
public:
    raw_peer(memory_stream transport, bool is_server, int version)
        : transport_(std::move(transport)),
          context_(SSL_CTX_new(is_server ? TLS_server_method() : TLS_client_method())) {
        SSL_CTX_set_min_proto_version(context_, version);
        SSL_CTX_set_max_proto_version(context_, version);
        SSL_CTX_set_session_id_context(context_, reinterpret_cast<const unsigned char*>("raw"), 3);
        if (is_server) {
            use(ids().good);
        }
    }
    raw_peer(const raw_peer&) = delete;
    raw_peer& operator=(const raw_peer&) = delete;
    ~raw_peer() {
        if (ssl_ != nullptr) {
            SSL_set_shutdown(ssl_, SSL_SENT_SHUTDOWN);  // else its session would count as bad
        }
        SSL_free(ssl_);
        SSL_CTX_free(context_);
    }

    std::string host =
        "good.example";  // of a client: the host that it requests, and the session that it offers
    SSL_SESSION* session = nullptr;

    SSL_CTX* context() { return context_; }
    SSL* ssl() { return ssl_; }
    memory_stream& transport() { return transport_; }

    void begin() {
        ssl_ = SSL_new(context_);
        SSL_set_bio(ssl_, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()));
        if (SSL_is_server(ssl_) == 1) {
            SSL_set_accept_state(ssl_);
        } else {
            SSL_set_connect_state(ssl_);
            SSL_set_tlsext_host_name(ssl_, host.c_str());
            if (session != nullptr) {
                SSL_set_session(ssl_, session);
            }
        }
    }
    // The bytes to send.
    std::string output() {
        char* data = nullptr;
        const long size = BIO_get_mem_data(SSL_get_wbio(ssl_), &data);
        std::string text(data, static_cast<std::size_t>(size));
        (void)BIO_reset(SSL_get_wbio(ssl_));
        return text;
    }
    task<> send() {
        const std::string text = output();
        co_await transport_.write(io::const_bytes(text));
    }
    task<bool> receive() {
        std::string buffer(20'000, '\0');
        const std::size_t count = co_await transport_.read(buffer);
        BIO_write(SSL_get_rbio(ssl_), buffer.data(), static_cast<int>(count));
        co_return count > 0;
    }
    // Does not send the last output.
    task<> handshake() {
        begin();
        while (SSL_do_handshake(ssl_) != 1) {
            co_await send();
            const bool came = co_await receive();
            if (!came) {
                throw std::runtime_error("the raw peer was cut off");
            }
        }
    }
    task<std::string> read(std::size_t size) {
        std::string text;
        while (text.size() < size) {
            char block[4096];
            std::size_t count = 0;
            if (SSL_read_ex(ssl_, block, sizeof block, &count) == 1) {
                text.append(block, count);
                continue;
            }
            const bool came = co_await receive();
            if (!came) {
                break;
            }
        }
        co_return text;
    }
    task<> write(std::string text) {
        std::size_t count = 0;
        SSL_write_ex(ssl_, text.data(), text.size(), &count);
        EXPECT_EQ(count, text.size());
        co_await send();
    }

private:
    void use(const tls::certificate& own) {
        BIO* certificate = BIO_new_mem_buf(own.certificate_pem.data(), -1);
        BIO* key = BIO_new_mem_buf(own.key_pem.data(), -1);
        X509* parsed = PEM_read_bio_X509(certificate, nullptr, nullptr, nullptr);
        EVP_PKEY* parsed_key = PEM_read_bio_PrivateKey(key, nullptr, nullptr, nullptr);
        SSL_CTX_use_certificate(context_, parsed);
        SSL_CTX_use_PrivateKey(context_, parsed_key);
        X509_free(parsed);
        EVP_PKEY_free(parsed_key);
        BIO_free(certificate);
        BIO_free(key);
    }

    memory_stream transport_;
    SSL_CTX* context_;
    SSL* ssl_ = nullptr;
};

}  // namespace tls_tests

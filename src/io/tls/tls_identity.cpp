// SPDX-License-Identifier: MIT
// Certificates, keys and authorities are read completely and parsed from memory, whether they come
// from a file or a text, so that errors can name the file and the defect.

#include "io/tls/context_rules.hpp"

#include <weir/error.hpp>
#include <weir/io/error.hpp>

#include <openssl/pem.h>

#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <vector>

namespace weir::tls::detail {

namespace {

constexpr std::size_t most_file_bytes = 16 << 20;

struct pem_source {
    std::string name;  // 'tls::context::server: certificate_file /etc/chain.pem'
    std::string text;
};

[[noreturn]] void throw_bad_identity(const std::string& what, const std::string& why) {
    throw invalid_argument(what + ": " + why);
}

std::string contents(const std::string& path, const std::string& name) {
    const std::unique_ptr<std::FILE, freed_by<&std::fclose>> file(std::fopen(path.c_str(), "re"));
    if (file == nullptr) {
        throw io_error(errno, name);
    }
    std::string text;
    char block[4096];
    while (const std::size_t count = std::fread(block, 1, sizeof block, file.get())) {
        text.append(block, count);
        if (text.size() > most_file_bytes) {
            throw_bad_identity(name, "larger than 16 MiB");
        }
    }
    if (std::ferror(file.get()) != 0) {
        throw io_error(errno, name);
    }
    return text;
}

// From the file or the text, whichever is given; an empty name if neither is.
pem_source source(const std::string& owner, const char* option, std::string_view file,
                  std::string_view pem) {
    if (!file.empty() && !pem.empty()) {
        throw_bad_identity(owner,
                           std::string(option) + "_file and " + option + "_pem are both given");
    }
    if (!file.empty()) {
        const std::string path(file);
        const std::string name = owner + ": " + option + "_file " + path;
        return {name, contents(path, name)};
    }
    if (!pem.empty()) {
        return {owner + ": " + option + "_pem", std::string(pem)};
    }
    return {};
}

// All certificates in the text, at least one.
std::vector<certificate_pointer> certificates(const pem_source& from) {
    std::vector<certificate_pointer> found;
    const bio_pointer text = bio_over(from.text);
    ERR_clear_error();
    for (;;) {
        certificate_pointer next(PEM_read_bio_X509_AUX(text.get(), nullptr, nullptr, nullptr));
        if (next == nullptr) {
            break;
        }
        found.push_back(std::move(next));
    }
    const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
    const std::string why = library_error();
    ERR_clear_error();
    if (!is_end) {
        throw_bad_identity(from.name, "a certificate that cannot be read: " + why);
    }
    if (found.empty()) {
        throw_bad_identity(from.name, "no certificate in PEM form");
    }
    return found;
}

struct password {
    std::string_view text;
    bool was_requested = false;
};

// Without this callback OpenSSL would prompt on the terminal.
int give_password(char* into, int size, int, void* argument) {
    auto& secret = *static_cast<password*>(argument);
    secret.was_requested = true;
    if (secret.text.empty() || secret.text.size() > static_cast<std::size_t>(size)) {
        return -1;
    }
    return static_cast<int>(secret.text.copy(into, secret.text.size()));
}

key_pointer key(const pem_source& from, std::string_view password_text) {
    const bio_pointer text = bio_over(from.text);
    password secret{password_text};
    ERR_clear_error();
    key_pointer found(PEM_read_bio_PrivateKey(text.get(), nullptr, &give_password, &secret));
    if (found == nullptr) {
        const bool is_missing = from.text.find("PRIVATE KEY-----") == std::string::npos;
        const std::string why = library_error();
        ERR_clear_error();
        throw_bad_identity(from.name,
                           secret.was_requested
                               ? (password_text.empty() ? "the key is encrypted: give key_password"
                                                        : "key_password does not open the key")
                           : is_missing ? "no private key in PEM form"
                                        : "a private key that cannot be read: " + why);
    }
    return found;
}

void add_trusted(SSL_CTX& into, const pem_source& from) {
    for (const certificate_pointer& each : certificates(from)) {
        check_made(X509_STORE_add_cert(SSL_CTX_get_cert_store(&into), each.get()) == 1 ? &into
                                                                                       : nullptr);
        SSL_CTX_add_client_CA(&into,
                              each.get());  // servers: sent to clients as accepted authorities
    }
}

}  // namespace

void load_identity(SSL_CTX& into, const identity_source& from, const std::string& owner) {
    const pem_source chain =
        source(owner, "certificate", from.certificate_file, from.certificate_pem);
    pem_source secret = source(owner, "key", from.key_file, from.key_pem);
    if (chain.name.empty()) {
        if (!secret.name.empty()) {
            throw_bad_identity(secret.name, "there is a key but no certificate");
        }
        return;
    }
    if (secret.name.empty()) {
        secret = chain;
    }
    std::vector<certificate_pointer> all = certificates(chain);
    const key_pointer own_key = key(secret, from.key_password);
    if (SSL_CTX_use_certificate(&into, all.front().get()) != 1) {
        throw_bad_identity(chain.name, library_error());
    }
    for (std::size_t i = 1; i < all.size(); ++i) {
        if (SSL_CTX_add0_chain_cert(&into, all[i].get()) != 1) {
            throw_bad_identity(chain.name, library_error());
        }
        (void)all[i].release();  // the context owns it now
    }
    ERR_clear_error();
    if (X509_check_private_key(all.front().get(), own_key.get()) != 1) {
        ERR_clear_error();
        throw_bad_identity(secret.name,
                           "the key does not belong to the certificate in " + chain.name);
    }
    if (SSL_CTX_use_PrivateKey(&into, own_key.get()) != 1) {
        throw_bad_identity(secret.name, library_error());
    }
}

void load_trust(SSL_CTX& into, const trust_source& from, const std::string& owner) {
    if (!from.ca_file.empty()) {
        add_trusted(into, source(owner, "ca", from.ca_file, {}));
    }
    if (!from.ca_pem.empty()) {
        add_trusted(into, source(owner, "ca", {}, from.ca_pem));
    }
    if (!from.ca_dir.empty()) {
        const std::string path(from.ca_dir);
        const std::string name = owner + ": ca_dir " + path;
        struct stat about{};
        if (::stat(path.c_str(), &about) != 0) {
            throw io_error(errno, name);
        }
        if (!S_ISDIR(about.st_mode)) {
            throw io_error(ENOTDIR, name);
        }
        if (SSL_CTX_load_verify_dir(&into, path.c_str()) != 1) {
            throw_bad_identity(name, library_error());
        }
    }
}

}  // namespace weir::tls::detail

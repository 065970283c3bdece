// SPDX-License-Identifier: MIT
// PostgreSQL: a user, the orders and the profile fetched at once, as structs
#include <weir/db/pg/database.hpp>
#include <weir/weir.hpp>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace pg = weir::pg;

struct user {
    int id;
    std::string name;
};
struct order {
    int id;
    std::string item;
    double price;
};
struct profile {
    std::string city;
    std::optional<std::string> phone;
};

weir::task<user> find_user(pg::database& shop, int id) {
    const pg::rows found =
        co_await shop.query("SELECT id, name FROM shop_example.users WHERE id = $1", id);
    co_return found.one<user>();  // throws if there is none
}
weir::task<std::vector<order>> find_orders(pg::database& shop, int id) {
    const pg::rows found = co_await shop.query(
        "SELECT id, item, price FROM shop_example.orders WHERE user_id = $1 ORDER BY id", id);
    co_return found.as<order>();
}
weir::task<profile> find_profile(pg::database& shop, int id) {
    const pg::rows found =
        co_await shop.query("SELECT city, phone FROM shop_example.profiles WHERE user_id = $1", id);
    co_return found.one<profile>();
}

weir::task<> show(pg::database& shop, int id) {
    // All three are on their way together; if one fails, the others are stopped, and so are their
    // queries.
    const auto [person, orders, about] =
        co_await weir::gather(find_user(shop, id), find_orders(shop, id), find_profile(shop, id));
    std::cout << person.name << " of " << about.city << ", phone "
              << about.phone.value_or("unknown") << '\n';
    for (const order& each : orders) {
        std::cout << "  order " << each.id << ": " << each.item << " for " << each.price << '\n';
    }
}

weir::task<> run(std::string url) {
    pg::database shop({.url = url});
    co_await shop.script(R"(
        DROP SCHEMA IF EXISTS shop_example CASCADE;
        CREATE SCHEMA shop_example;
        SET LOCAL search_path TO shop_example;
        CREATE TABLE users (id int PRIMARY KEY, name text);
        CREATE TABLE orders (id int PRIMARY KEY, user_id int, item text, price float8);
        CREATE TABLE profiles (user_id int PRIMARY KEY, city text, phone text);
        INSERT INTO users VALUES (1, 'Ann'), (2, 'Bob'), (3, 'Eve');
        INSERT INTO orders VALUES (10, 1, 'a lamp', 19.5), (11, 1, 'a desk', 120), (12, 2, 'a pen', 2);
        INSERT INTO profiles VALUES (1, 'Berlin', NULL), (2, 'Oslo', '555-0100');)");
    co_await show(shop, 1);
    co_await show(shop, 2);
    try {
        co_await show(shop, 3);
    } catch (const weir::db::mapping_error& error) {
        std::cout << "Eve has no profile: " << error.what() << '\n';
    }
    co_await shop.script("DROP SCHEMA shop_example CASCADE");
    co_await shop.close();
}

int main(int count, char** arguments) {
    const char* const url = count > 1 ? arguments[1] : std::getenv("POSTGRES_URL");
    if (url == nullptr) {
        std::cout << "Give the address of a database, postgresql://user:password@host/name,\n"
                     "as argument or as POSTGRES_URL: the schema shop_example is made there for a "
                     "moment.\n";
        return 0;
    }
    weir::run(run(url));
    return 0;
}

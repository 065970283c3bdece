// SPDX-License-Identifier: MIT
// A doubly linked list whose links are inside its elements: nothing allocates, and an element
// leaves in constant time without knowing which list it is in.
//
//     class waiter : public list_link<> { ... };
//     intrusive_list<waiter> waiters;
//     waiters.push_back(one);
//     one.unlink();
//
// An element that can be in several lists at once derives from one list_link per list,
// distinguished by a tag: list_link<struct idle_tag>, intrusive_list<entry, struct idle_tag>. Lists
// do not own their elements, and elements do not unlink themselves when they are destroyed.
#pragma once

#include <cstddef>
#include <iterator>

namespace weir::detail {

// For what is set before it is read, by the code that follows the constructor.
struct set_later {};

// An element's place in a list, or the end of a list.
template <class Tag = void>
class list_link {
public:
    constexpr list_link() noexcept : next_(nullptr), previous_(nullptr) {}
    // Of an element that enters a list before it is asked whether it is in one.
    explicit list_link(set_later) noexcept {}
    // Elements are copied and moved only while they are in no list; the link is not part of that.
    constexpr list_link(const list_link&) noexcept : list_link() {}
    constexpr list_link& operator=(const list_link&) noexcept { return *this; }

    constexpr bool is_linked() const noexcept { return next_ != nullptr; }
    constexpr list_link* next() const noexcept { return next_; }
    constexpr list_link* previous() const noexcept { return previous_; }

    // A ring of one: how the end of an empty list is linked.
    constexpr void link_to_self() noexcept { next_ = previous_ = this; }
    // This link must be in no list, and the other one in one.
    constexpr void link_before(list_link& other) noexcept {
        next_ = &other;
        previous_ = other.previous_;
        previous_->next_ = this;
        other.previous_ = this;
    }
    // Leaves the list. This link must be in one.
    constexpr void unlink() noexcept {
        previous_->next_ = next_;
        next_->previous_ = previous_;
        next_ = previous_ = nullptr;
    }
    // The same for a link that is never asked again whether it is in one.
    constexpr void unlink_for_good() noexcept {
        previous_->next_ = next_;
        next_->previous_ = previous_;
    }

private:
    list_link* next_;
    list_link* previous_;
};

template <class T, class Tag = void>
class intrusive_list {
public:
    using link = list_link<Tag>;

    class iterator {
    public:
        using iterator_category = std::bidirectional_iterator_tag;
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using pointer = T*;
        using reference = T&;

        iterator() noexcept = default;
        explicit iterator(link* at) noexcept : at_(at) {}
        T& operator*() const noexcept { return element(*at_); }
        T* operator->() const noexcept { return &element(*at_); }
        iterator& operator++() noexcept {
            at_ = at_->next();
            return *this;
        }
        iterator operator++(int) noexcept {
            const iterator before = *this;
            at_ = at_->next();
            return before;
        }
        iterator& operator--() noexcept {
            at_ = at_->previous();
            return *this;
        }
        iterator operator--(int) noexcept {
            const iterator before = *this;
            at_ = at_->previous();
            return before;
        }
        bool operator==(const iterator&) const noexcept = default;

    private:
        friend class intrusive_list;
        link* at_ = nullptr;
    };

    constexpr intrusive_list() noexcept { end_.link_to_self(); }
    intrusive_list(intrusive_list&& other) noexcept : intrusive_list() { splice_back(other); }
    intrusive_list& operator=(intrusive_list&&) = delete;

    bool empty() const noexcept { return end_.next() == &end_; }
    // The list must not be empty.
    T& front() const noexcept { return element(*end_.next()); }
    T& back() const noexcept { return element(*end_.previous()); }

    void push_back(T& last) noexcept { as_link(last).link_before(end_); }
    void push_front(T& first) noexcept { as_link(first).link_before(*end_.next()); }
    void insert_before(iterator place, T& added) noexcept {
        as_link(added).link_before(*place.at_);
    }
    // The element must be in this list.
    void remove(T& gone) noexcept { as_link(gone).unlink(); }
    // The same for an element that is never asked again whether it is in a list.
    static void remove_for_good(T& gone) noexcept { as_link(gone).unlink_for_good(); }
    T& pop_front() noexcept {
        T& first = front();
        remove(first);
        return first;
    }
    // Appends all elements of the other list, which is empty then.
    void splice_back(intrusive_list& other) noexcept {
        while (!other.empty()) {
            push_back(other.pop_front());
        }
    }

    // Removing an element invalidates the iterators at that element alone: a loop that removes
    // elements advances first, `T& each = *at++;`.
    iterator begin() const noexcept { return iterator(end_.next()); }
    iterator end() const noexcept { return iterator(const_cast<link*>(&end_)); }

private:
    static T& element(link& at) noexcept { return static_cast<T&>(at); }
    static link& as_link(T& element) noexcept { return static_cast<link&>(element); }

    link end_;
};

}  // namespace weir::detail

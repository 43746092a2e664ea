// Adds members to an object that keeps the order of its text. Each key costs the logarithm of their
// number, whoever wrote the text.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace hone {

// J: OrderedJson.
template <class J>
class OrderedMembers {
 public:
  // `object` is an empty object that must outlive this, and is changed through it alone.
  explicit OrderedMembers(J& object)
      : members_(object.template get_ref<typename J::object_t&>()), sorted_(ByKey{*this}) {}
  OrderedMembers(const OrderedMembers&) = delete;

  bool contains(std::string_view key) const { return find(key) < members_.size(); }
  // The value of that key, null if it is new; valid until the next call.
  J& operator[](const std::string& key) {
    if (const size_t known = find(key); known < members_.size()) return members_[known].second;
    members_.emplace_back(key, nullptr);
    if (members_.size() > kFew)
      for (size_t i = sorted_.size(); i < members_.size(); ++i) sorted_.insert(i);
    return members_.back().second;
  }
  // Comparisons of two keys so far.
  int64_t compared() const { return compared_; }

 private:
  // Fewer members are compared one by one.
  static constexpr size_t kFew = 16;
  struct ByKey {
    using is_transparent = void;
    const OrderedMembers& all;
    std::string_view key(size_t i) const { return all.members_[i].first; }
    static std::string_view key(std::string_view text) { return text; }
    template <class A, class B>
    bool operator()(A a, B b) const {
      ++all.compared_;
      return key(a) < key(b);
    }
  };
  // The place of the key; members_.size(): there is none.
  size_t find(std::string_view key) const {
    if (members_.size() > kFew) {
      const auto it = sorted_.find(key);
      return it == sorted_.end() ? members_.size() : *it;
    }
    for (size_t i = 0; i < members_.size(); ++i) {
      ++compared_;
      if (members_[i].first == key) return i;
    }
    return members_.size();
  }

  typename J::object_t::Container& members_;  // whose [] takes places, not keys
  std::set<size_t, ByKey> sorted_;            // of all members, once they are not few
  mutable int64_t compared_ = 0;
};

}  // namespace hone

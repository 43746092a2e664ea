// Adds members to an OrderedJson object, which keeps its members in the order of the text. OrderedJson itself compares
// a new key with all keys before it. Here a lookup takes logarithmic time for every text, even one that an attacker
// wrote.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace hone {

// J is OrderedJson.
template <class J>
class OrderedMembers {
 public:
  // `object` must be an empty JSON object, must outlive the OrderedMembers, and must not be changed in another way.
  explicit OrderedMembers(J& object)
      : members_(object.template get_ref<typename J::object_t&>()), sorted_(ByKey{*this}) {}
  OrderedMembers(const OrderedMembers&) = delete;

  bool contains(std::string_view key) const { return find(key) < members_.size(); }
  // The value of `key`. A new key is added with a JSON null. The reference is valid until the next call.
  J& operator[](const std::string& key) {
    if (const size_t known = find(key); known < members_.size()) return members_[known].second;
    members_.emplace_back(key, nullptr);
    if (members_.size() > kFew)
      for (size_t i = sorted_.size(); i < members_.size(); ++i) sorted_.insert(i);
    return members_.back().second;
  }
  // The number of comparisons of two keys so far, for tests.
  int64_t compared() const { return compared_; }

 private:
  // Up to this number of members, keys are compared one by one.
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
  // The index of the key in members_; members_.size() if there is none.
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

  typename J::object_t::Container& members_;  // the object as a vector: [] takes an index
  std::set<size_t, ByKey> sorted_;            // by key; empty for up to kFew members
  mutable int64_t compared_ = 0;
};

}  // namespace hone

// Pages of a KV cache with reference counts: sequences with the same beginning share its pages
// until one writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

using PageList = std::vector<int32_t>;

class PagePool {
 public:
  explicit PagePool(int64_t pages) : users_(static_cast<size_t>(pages), 0) {
    free_.reserve(users_.size());
    for (int64_t i = pages; i-- > 0;) free_.push_back(static_cast<int32_t>(i));
  }

  int32_t take();  // a Bug if none is free: the caller planned for its worst case
  PageList share(const PageList& pages);  // adds one user
  void drop(PageList& pages);             // removes one user; empties the list
  bool shared(int32_t page) const { return users_[static_cast<size_t>(page)] > 1; }

 private:
  std::vector<int32_t> users_, free_;
};

}  // namespace hone

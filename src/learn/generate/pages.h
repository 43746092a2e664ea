// Pages of a KV cache with reference counts. Sequences that begin with the same tokens share the pages of these tokens
// until one of them writes to a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace hone {

using PageList = std::vector<int32_t>;  // numbers of pages

class PagePool {
 public:
  explicit PagePool(int64_t pages) : users_(static_cast<size_t>(pages), 0) {
    free_.reserve(users_.size());
    for (int64_t i = pages; i-- > 0;) free_.push_back(static_cast<int32_t>(i));
  }

  // Returns a free page, which then has one user. Throws a Bug if no page is free. Callers avoid this: they reserve the
  // pages of their worst case before they call take().
  int32_t take();
  PageList share(const PageList& pages);  // adds a user to each page; returns the same list
  // Removes a user from each page, frees the pages that have no user left, and empties the list.
  void drop(PageList& pages);
  bool shared(int32_t page) const { return users_[static_cast<size_t>(page)] > 1; }

 private:
  std::vector<int32_t> users_, free_;
};

}  // namespace hone

#include "learn/generate/pages.h"

#include "base/core/error.h"

namespace hone {

int32_t PagePool::take() {
  HONE_BUG_IF(free_.empty(), "all {} pages of the cache are in use", users_.size());
  int32_t page = free_.back();
  free_.pop_back();
  users_[static_cast<size_t>(page)] = 1;
  return page;
}

PageList PagePool::share(const PageList& pages) {
  for (int32_t p : pages) ++users_[static_cast<size_t>(p)];
  return pages;
}

void PagePool::drop(PageList& pages) {
  for (int32_t p : pages) {
    int32_t& users = users_[static_cast<size_t>(p)];
    HONE_BUG_IF(users < 1, "page {} is given back twice", p);
    if (--users == 0) free_.push_back(p);
  }
  pages.clear();
}

}  // namespace hone

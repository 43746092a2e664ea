// Text buffers that a thread uses repeatedly, so that it stops allocating memory after its first texts.
#pragma once

#include <string>
#include <vector>

namespace hone {

// An empty string that takes over the memory of an earlier, destroyed ScratchString of this thread, if there is one. A
// thread may have several at a time.
class ScratchString {
 public:
  ScratchString() {
    if (free_list().empty()) return;
    text_ = std::move(free_list().back());
    free_list().pop_back();
    text_.clear();
  }
  ~ScratchString() {
    // A buffer that became very large is freed.
    if (text_.capacity() <= kMostKept && free_list().size() < kMostFree)
      free_list().push_back(std::move(text_));
  }
  ScratchString(const ScratchString&) = delete;
  ScratchString& operator=(const ScratchString&) = delete;

  std::string& operator*() { return text_; }
  std::string* operator->() { return &text_; }

 private:
  static constexpr size_t kMostKept = size_t{1} << 22, kMostFree = 8;
  static std::vector<std::string>& free_list() {
    thread_local std::vector<std::string> list = [] {
      std::vector<std::string> v;
      v.reserve(kMostFree);
      return v;
    }();
    return list;
  }

  std::string text_;
};

}  // namespace hone

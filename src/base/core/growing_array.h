// An array that grows without a second copy of its elements. A std::vector holds the old and the new block while it
// grows. Here realloc() lets the kernel move the pages of a large block, so the peak memory is that of the new block.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace hone {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(std::initializer_list<T> values) {
    append(std::span(values.begin(), values.size()));
  }
  GrowingArray(const GrowingArray& o) { append({o.data_, o.size_}); }
  GrowingArray(GrowingArray&& o) noexcept { swap(o); }
  GrowingArray& operator=(GrowingArray o) noexcept { return swap(o), *this; }
  ~GrowingArray() { std::free(data_); }

  const T* data() const { return data_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](size_t i) const { return data_[i]; }
  const T& back() const { return data_[size_ - 1]; }

  // Adds copies at the end. `values` must not point into this array. Throws std::bad_alloc if there is no
  // memory, as push_back() does.
  void append(std::span<const T> values) {
    const size_t all = size_ + values.size();
    if (all > capacity_) set_capacity(std::max(all, capacity_ + capacity_ / 2));
    std::copy(values.begin(), values.end(), data_ + size_);
    size_ = all;
  }
  void push_back(T value) { append({&value, 1}); }
  // Removes all elements after the first `count`. Keeps the memory, as clear() does.
  void keep_first(size_t count) { size_ = std::min(size_, count); }
  void clear() { size_ = 0; }
  void shrink_to_fit() {
    if (size_ < capacity_) set_capacity(size_);
  }

 private:
  void swap(GrowingArray& o) {
    std::swap(data_, o.data_);
    std::swap(size_, o.size_);
    std::swap(capacity_, o.capacity_);
  }
  void set_capacity(size_t count) {
    if (count == 0) {
      std::free(std::exchange(data_, nullptr));
    } else {
      void* moved = std::realloc(data_, count * sizeof(T));
      if (!moved) throw std::bad_alloc();
      data_ = static_cast<T*>(moved);
    }
    capacity_ = count;
  }

  T* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace hone

// Threads that make the pixels of rows while a step runs.
//
//   ImageLoader loader(threads, make);
//   loader.start(next, epoch, rows);        // returns at once
//   const LoadedImage& x = loader.take(next, row);  // waits; the caller helps
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "learn/images/augment.h"

namespace hone {

struct LoadedImage {
  Image pixels;
  std::optional<Box> erased;   // set to the mean colour
  std::optional<Error> error;  // why the image has no pixels
};

// Memory of a thread.
struct LoadMemory {
  TransformMemory transform;
  std::string bytes;
};

// Rows to load together. The loader changes it; destroyed after the loader, or when nothing is being loaded.
class ImageBatch {
 public:
  int64_t number = -1;  // of the step, for the caller
  bool holds(int64_t row) const;
  int64_t size() const { return std::ssize(rows_); }

 private:
  friend class ImageLoader;
  size_t place(int64_t row) const;
  std::vector<int64_t> rows_;  // ascending, each once
  std::vector<LoadedImage> images_;
  std::vector<uint8_t> ready_;
  int64_t epoch_ = 0;
  size_t next_ = 0, busy_ = 0;  // first row that nobody makes; rows being made
};

class ImageLoader {
 public:
  // Makes the pixels of a row in an epoch. Called from several threads; must depend on its arguments alone.
  using Make = std::function<void(int64_t row, int64_t epoch, LoadedImage& to, LoadMemory& memory)>;
  // `threads` 0: take() makes all pixels.
  ImageLoader(int threads, Make make);
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;

  // Replaces the rows of the batch, whose images are no longer used. Rows may repeat.
  void start(ImageBatch& batch, int64_t epoch, std::span<const int64_t> rows);
  // The image of a row of the batch, which stays until start(). A Bug of a thread is thrown here.
  const LoadedImage& take(ImageBatch& batch, int64_t row);
  int threads() const { return static_cast<int>(threads_.size()); }
  double waited_seconds() const { return waited_seconds_; }  // in take(), helping included

 private:
  void work();
  // Makes the batch's next row; the lock is released meanwhile.
  void make_next(ImageBatch& batch, LoadMemory& memory, std::unique_lock<std::mutex>& lock);

  Make make_;
  std::mutex mutex_;
  std::condition_variable changed_;  // a row is ready, or there is one to make
  std::deque<ImageBatch*> queue_;
  bool stops_ = false;
  std::exception_ptr failed_;
  LoadMemory own_memory_;
  double waited_seconds_ = 0;
  std::vector<std::thread> threads_;
};

}  // namespace hone

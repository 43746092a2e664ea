// Threads that decode and transform images in advance, while a training step runs.
//
//   ImageLoader loader(threads, make);
//   ImageBatch next;
//   loader.start(next, epoch, rows);                // returns before the images are ready
//   const LoadedImage& x = loader.take(next, row);  // waits, and helps the threads meanwhile
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
  // The part of the image that the caller must set to the mean colour (random erasing), or none. `pixels` still has the
  // original colours there.
  std::optional<Box> erased;
  std::optional<Error> error;  // the reason why there are no pixels; none: `pixels` is valid
};

// Scratch memory of one thread.
struct LoadMemory {
  TransformMemory transform;
  std::string bytes;
};

// The rows of one start() and their images. The loader works on the batch until take() has returned the images of all
// its rows. Destroy the batch after that, or after the loader is destroyed.
class ImageBatch {
 public:
  // For the caller, such as the number of the step; the loader does not use it.
  int64_t number = -1;
  bool holds(int64_t row) const;                      // true if `row` is a row of the batch
  int64_t size() const { return std::ssize(rows_); }  // number of different rows

 private:
  friend class ImageLoader;
  size_t place(int64_t row) const;
  std::vector<int64_t> rows_;  // ascending, each once
  std::vector<LoadedImage> images_;
  std::vector<uint8_t> ready_;
  int64_t epoch_ = 0;
  // next_: index of the first row that no thread has started. busy_: number of rows whose images are being made.
  size_t next_ = 0, busy_ = 0;
};

class ImageLoader {
 public:
  // Fills `to` with the pixels, or the error, of a row in an epoch. Called by several threads at a time. The result
  // must depend only on row and epoch.
  using Make = std::function<void(int64_t row, int64_t epoch, LoadedImage& to, LoadMemory& memory)>;
  // With `threads` 0, take() calls `make` for all rows itself.
  ImageLoader(int threads, Make make);
  ~ImageLoader();
  ImageLoader(const ImageLoader&) = delete;

  // Starts to load `rows` into `batch`, and replaces its earlier rows and images. Rows may repeat. Does not wait for
  // the new images; waits only if threads are still making earlier rows of this batch.
  void start(ImageBatch& batch, int64_t epoch, std::span<const int64_t> rows);
  // Returns the image of a row. Until the image is ready, makes images of the batch that no thread has started, or
  // waits. The reference is valid until the next start() with this batch. `row` must be in the batch, else a Bug is
  // thrown. If `make` has thrown an exception in any thread, this call and all later calls throw it.
  const LoadedImage& take(ImageBatch& batch, int64_t row);
  int threads() const { return static_cast<int>(threads_.size()); }
  // Total time that take() has waited for images, including the time in which it made images itself.
  double waited_seconds() const { return waited_seconds_; }

 private:
  void work();
  // Makes the image of the batch's next row; the lock is released meanwhile.
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

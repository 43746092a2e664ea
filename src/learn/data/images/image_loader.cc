#include "learn/data/images/image_loader.h"

#include <algorithm>

#include "base/core/clock.h"

namespace hone {

bool ImageBatch::holds(int64_t row) const {
  return std::binary_search(rows_.begin(), rows_.end(), row);
}
size_t ImageBatch::place(int64_t row) const {
  const auto at = std::lower_bound(rows_.begin(), rows_.end(), row);
  HONE_BUG_IF(at == rows_.end() || *at != row, "row {} is not in the batch", row);
  return static_cast<size_t>(at - rows_.begin());
}

ImageLoader::ImageLoader(int threads, Make make) : make_(std::move(make)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

ImageLoader::~ImageLoader() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ImageLoader::start(ImageBatch& batch, int64_t epoch, std::span<const int64_t> rows) {
  std::unique_lock lock(mutex_);
  batch.next_ = batch.rows_.size();
  std::erase(queue_, &batch);
  changed_.wait(lock, [&] { return batch.busy_ == 0; });
  batch.rows_.assign(rows.begin(), rows.end());
  std::sort(batch.rows_.begin(), batch.rows_.end());
  batch.rows_.erase(std::unique(batch.rows_.begin(), batch.rows_.end()), batch.rows_.end());
  if (batch.images_.size() < batch.rows_.size()) batch.images_.resize(batch.rows_.size());
  batch.ready_.assign(batch.rows_.size(), 0);
  batch.epoch_ = epoch;
  batch.next_ = 0;
  if (!batch.rows_.empty()) queue_.push_back(&batch);
  changed_.notify_all();
}

const LoadedImage& ImageLoader::take(ImageBatch& batch, int64_t row) {
  const size_t place = batch.place(row);
  std::unique_lock lock(mutex_);
  if (!batch.ready_[place]) {
    const double begin = system_clock().seconds();
    while (!batch.ready_[place] && !failed_) {
      if (batch.next_ < batch.rows_.size())
        make_next(batch, own_memory_, lock);
      else
        changed_.wait(lock);
    }
    waited_seconds_ += system_clock().seconds() - begin;
  }
  if (failed_) std::rethrow_exception(failed_);
  return batch.images_[place];
}

void ImageLoader::make_next(ImageBatch& batch, LoadMemory& memory,
                            std::unique_lock<std::mutex>& lock) {
  const size_t place = batch.next_++;
  ++batch.busy_;
  if (batch.next_ == batch.rows_.size()) std::erase(queue_, &batch);
  LoadedImage& image = batch.images_[place];
  const int64_t row = batch.rows_[place], epoch = batch.epoch_;
  std::exception_ptr failed;
  lock.unlock();
  try {
    image.error.reset();
    image.erased.reset();
    make_(row, epoch, image, memory);
  } catch (...) {
    failed = std::current_exception();
  }
  lock.lock();
  if (failed && !failed_) failed_ = failed;
  batch.ready_[place] = 1;
  --batch.busy_;
  changed_.notify_all();
}

void ImageLoader::work() {
  LoadMemory memory;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stops_ || !queue_.empty(); });
    if (stops_) return;
    make_next(*queue_.front(), memory, lock);
  }
}

}  // namespace hone

// A pool of scratches: sets of buffers that threads reuse from text to text. Each call of a Tokenizer borrows one
// scratch.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "learn/tokenizers/stages/stages.h"

namespace hone {

class ScratchPool {
 public:
  struct Scratch {
    std::unique_ptr<ModelScratch> model;
    std::vector<int32_t> first, second;  // ids of the texts before truncation
  };
  ~ScratchPool() {
    for (Slot& slot : slots_) delete slot.idle.load();
  }

  // Returns the scratch that this thread used last, because its data may still be in the processor's caches; if another
  // thread has it, another idle scratch. Returns null if none is idle: the caller then creates one. So the number of
  // scratches is the largest number of threads that have encoded at the same time.
  std::unique_ptr<Scratch> take() {
    const size_t home = mine();
    for (size_t i = 0; i < kSlots; ++i) {
      std::atomic<Scratch*>& idle = slots_[(home + i) % kSlots].idle;
      if (i > 0 && idle.load(std::memory_order_relaxed) == nullptr) continue;
      if (Scratch* const found = idle.exchange(nullptr)) return std::unique_ptr<Scratch>(found);
    }
    std::lock_guard lock(mutex_);
    if (more_.empty()) return nullptr;
    std::unique_ptr<Scratch> found = std::move(more_.back());
    more_.pop_back();
    return found;
  }
  // Puts a scratch of take(), or a new one, into the pool.
  void give_back(std::unique_ptr<Scratch> scratch) {
    std::unique_ptr<Scratch> other(slots_[mine()].idle.exchange(scratch.release()));
    if (!other) return;
    std::lock_guard lock(mutex_);
    more_.push_back(std::move(other));
  }

 private:
  static constexpr size_t kSlots = 64;
  struct alignas(64) Slot {
    std::atomic<Scratch*> idle = nullptr;
  };
  static size_t mine() {
    static std::atomic<size_t> threads = 0;
    thread_local const size_t index = threads++ % kSlots;
    return index;
  }

  std::array<Slot, kSlots> slots_;
  std::mutex mutex_;
  // Idle scratches that another one replaced in a slot.
  std::vector<std::unique_ptr<Scratch>> more_;
};

// Borrows a scratch from the pool, or creates one. The destructor gives the scratch back to the pool.
class ScratchLease {
 public:
  ScratchLease(ScratchPool& pool, const Model& model) : pool_(pool), scratch_(pool.take()) {
    if (scratch_) return;
    scratch_ = std::make_unique<ScratchPool::Scratch>();
    scratch_->model = model.make_scratch();
  }
  ~ScratchLease() { pool_.give_back(std::move(scratch_)); }
  ScratchLease(const ScratchLease&) = delete;
  ScratchPool::Scratch& scratch() { return *scratch_; }

 private:
  ScratchPool& pool_;
  std::unique_ptr<ScratchPool::Scratch> scratch_;
};

}  // namespace hone

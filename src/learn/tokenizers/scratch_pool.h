// What threads keep from text to text, lent out by a Tokenizer.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct Tokenizer::ScratchPool {
  struct Scratch {
    std::unique_ptr<ModelScratch> model;
    std::vector<int32_t> first, second;  // ids before they are cut
  };
  std::mutex mutex;
  std::vector<std::unique_ptr<Scratch>> free;  // as many as ever encoded at the same time
};

struct Tokenizer::Lease {
  explicit Lease(const Tokenizer& t) : tokenizer(t) {
    {
      std::lock_guard lock(t.scratches_->mutex);
      if (!t.scratches_->free.empty()) {
        scratch = std::move(t.scratches_->free.back());
        t.scratches_->free.pop_back();
      }
    }
    if (!scratch) {
      scratch = std::make_unique<ScratchPool::Scratch>();
      scratch->model = t.parts_->model->make_scratch();
    }
  }
  ~Lease() {
    std::lock_guard lock(tokenizer.scratches_->mutex);
    tokenizer.scratches_->free.push_back(std::move(scratch));
  }
  Lease(const Lease&) = delete;

  const Tokenizer& tokenizer;
  std::unique_ptr<ScratchPool::Scratch> scratch;
};

}  // namespace hone

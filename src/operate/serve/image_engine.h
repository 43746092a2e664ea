// A classifier of images: waiting images are computed together, on a thread of its own.
#pragma once

#include <functional>

#include "engine/session/session.h"
#include "learn/harness/port_batch.h"
#include "learn/images/augment.h"
#include "learn/images/processor.h"
#include "learn/pretrained/pretrained.h"
#include "operate/serve/job_queue.h"

namespace hone {

struct ImageJob {
  Image pixels;  // of the processor's width and height
  Deadline deadline = kNoDeadline;
  bool follows = false;  // another job of its request
  // On the engine's thread: when the job no longer waits, and once f32[labels]. Errors: H2505, H3411, H3412.
  std::function<void()> begins = {};
  std::function<void(Result<std::vector<float>>)> done;
};

class ImageEngine : public BatchEngine<ImageJob> {
 public:
  // Programs for 1, 2, 4 ... `images` images. Errors: those of the model and of the device.
  static Result<std::unique_ptr<ImageEngine>> make(const Pretrained& model,
                                                   const ImageProcessor& processor, int64_t images,
                                                   const Backend& backend,
                                                   const EngineOptions& options);
  ~ImageEngine() override { join(); }

  // Errors: H3412 after stop(), H3414 too many wait.
  Result<uint64_t> submit(ImageJob job) { return queue_.submit(std::move(job)); }

 private:
  struct Bound {
    size_t program;
    int64_t images;
    Batch inputs, outputs;
  };
  using Waiting = JobQueue<ImageJob>::Waiting;
  explicit ImageEngine(const EngineOptions& options) : BatchEngine(options) {}
  void run() override;
  void compute(std::vector<Waiting>& jobs);
  void fill(const Bound& b, std::span<const Waiting> jobs) const;
  void answer(const Bound& b, std::span<Waiting> jobs);

  ImageProcessor::Table table_;
  size_t labels_ = 0;
  std::optional<Session> session_;
  std::vector<Bound> bound_;  // by rising images
};

}  // namespace hone

// The engine of an image classifier: a thread that computes several waiting images in one run of the model.
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
  Image pixels;  // must have the processor's width and height
  Deadline deadline = kNoDeadline;
  // True: another job of the same request came before this one. The limit for waiting jobs then does not apply.
  bool follows = false;
  // Called once, on the engine's thread, when the engine takes the job from the queue to compute it. Not called if the
  // job is cancelled or ends with an error while it waits. Null: not called.
  std::function<void()> begins = {};
  // Called once, on the engine's thread, with the logits f32[labels]. Not called if the job is cancelled while it
  // waits. Errors: H2505 the logits are not finite; H3411 the deadline passed while the job waited; H3412 the engine
  // was stopped while the job waited; H3419 no memory.
  std::function<void(Result<std::vector<float>>)> done;
};

class ImageEngine : public BatchEngine<ImageJob> {
 public:
  // Compiles programs for batches of 1, 2, 4 ... `images` images, and loads the weights. Errors: those of the model and
  // of the device.
  static Result<std::unique_ptr<ImageEngine>> make(const Pretrained& model,
                                                   const ImageProcessor& processor, int64_t images,
                                                   const Backend& backend,
                                                   const EngineOptions& options);
  ~ImageEngine() override { join(); }

  // Queues a job and returns its ticket for cancel(). Errors: H3412 the engine was stopped; H3414 too many jobs wait.
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

#include "engine/backends/cuda/emulator/queues.h"

#include "base/core/error.h"

namespace hone::cuda::fake {

std::string Stream::text() const { return "stream " + std::to_string(actor); }

Queues::Queues(Execution execution, uint64_t seed, std::function<void(Op&)> run)
    : execution_(execution), random_(seed), run_(std::move(run)) {}

Stream& Queues::add_stream() {
  Stream& s = streams_.add();
  s.actor = streams_.all().size();
  return s;
}

Stream& Queues::null_stream() {
  if (null_ == nullptr) null_ = &add_stream();
  return *null_;
}

void Queues::add(const std::shared_ptr<Op>& op) {
  op->stream->queue.push_back(op);
  op->stream->last = op;
  if (execution_ == Execution::at_once) run_until(op);
  if (execution_ == Execution::shuffled)
    for (uint64_t n = random_() % 3; n > 0; --n) run_any();
}

void Queues::run_until(const std::shared_ptr<Op>& op) {
  if (!op) return;
  if (execution_ == Execution::shuffled) {
    while (!op->done) HONE_BUG_IF(!run_any(), "queued work waits for itself");
    return;
  }
  // Runs the dependencies of a wait first. They were queued before the wait, so the recursion ends.
  std::vector<const Op*> goals{op.get()};
  while (!goals.empty()) {
    const Op* goal = goals.back();
    if (goal->done) {
      goals.pop_back();
    } else if (is_ready(*goal->stream)) {
      run_first(*goal->stream);
    } else {
      goals.push_back(goal->stream->queue.front()->after.get());
    }
  }
}

void Queues::run_all() {
  while (run_any()) {
  }
}

bool Queues::is_ready(const Stream& s) const {
  return !s.queue.empty() && (!s.queue.front()->after || s.queue.front()->after->done);
}

void Queues::run_first(Stream& s) {
  const std::shared_ptr<Op> op = std::move(s.queue.front());
  s.queue.pop_front();
  if (op->work) run_(*op);
  op->done = true;
  op->work = {};
  op->after = {};
}

bool Queues::run_any() {
  std::vector<Stream*> ready;
  for (const auto& s : streams_.all())
    if (is_ready(*s)) ready.push_back(s.get());
  if (ready.empty()) return false;
  run_first(*ready[random_() % ready.size()]);
  return true;
}

}  // namespace hone::cuda::fake

#include "operate/serve/answer_watch.h"

namespace hone {

AnswerWatch::AnswerWatch(ModelStatistics& statistics,
                         const std::optional<ModelLatencies>& latencies, const Clock& clock)
    : statistics_(statistics),
      latencies_(latencies),
      clock_(clock),
      asked_(clock.seconds()),
      last_(asked_) {}

// Ends a part now.
double AnswerWatch::step(ModelStatistics::Part part) {
  const double now = clock_.seconds();
  statistics_.add(part, now - last_);
  return last_ = now;
}

void AnswerWatch::ready() { step(ModelStatistics::compute_input); }
void AnswerWatch::begins() { step(ModelStatistics::queue); }
void AnswerWatch::answered() { step(ModelStatistics::compute_output); }

void AnswerWatch::token() {
  if (++tokens_ == 1) first_token_ = clock_.seconds();
}

void AnswerWatch::computed() {
  const double now = step(ModelStatistics::compute_infer);
  if (!latencies_) return;
  latencies_->answer.observe(now - asked_);
  if (tokens_ > 0) latencies_->first_token.observe(first_token_ - asked_);
  if (tokens_ > 1)
    latencies_->per_token.observe((now - first_token_) / static_cast<double>(tokens_ - 1));
}

}  // namespace hone

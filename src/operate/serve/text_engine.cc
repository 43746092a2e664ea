#include "operate/serve/text_engine.h"

#include "base/core/log_thrown.h"
#include "operate/serve/errors.h"

namespace hone {

Result<std::unique_ptr<TextEngine>> TextEngine::make(const Pretrained& model,
                                                     const CacheLimits& limits,
                                                     const Backend& backend,
                                                     const EngineOptions& options) {
  std::unique_ptr<TextEngine> e(new TextEngine(options));
  e->limits_ = limits;
  e->session_ =
      HONE_TRY(Session::compile(HONE_TRY(build_cached_programs(model.config, limits)), backend));
  HONE_TRY(e->session_->allocate());
  HONE_TRY(load_weights(*e->session_, model));
  e->cached_ = std::make_unique<CachedModel>(*e->session_, model.config, limits);
  e->batcher_ = std::make_unique<Batcher>(
      *e->cached_, model.tokenizer ? &*model.tokenizer : nullptr, e->session_->pool(),
      std::min(limits.tokens, model.config.max_positions));
  e->tell_load();
  e->start();
  return e;
}

Status TextEngine::check(const Prompt& prompt, const GenerationConfig& config) const {
  if (batcher_->fits(prompt, config)) return Ok{};
  const auto begun = static_cast<int64_t>(prompt.tokens.size());
  return Error(
             err::kServeTooLarge,
             fmt::format("the request needs {} prompt tokens and {} new tokens in {} sequences at "
                         "once; this server holds {} sequences of {} tokens, {} tokens in all",
                         prompt.tokens.size() + prompt.source.size(),
                         config.end_length(begun, limits_.tokens) - begun,
                         std::max(config.num_beams, config.num_return_sequences), limits_.rows,
                         std::max(limits_.tokens, limits_.longest_source),
                         limits_.pages() * limits_.page))
      .todo(
          "shorten the text, ask for fewer tokens or sequences, or start the server with a larger "
          "--max_length, --batch_size or --cache_memory");
}

void TextEngine::tell_load() {
  EngineLoad l;
  const Batcher::Times& t = batcher_->times();
  l.running = static_cast<int64_t>(running_.size());
  l.rows = limits_.rows;
  l.used_rows = batcher_->used_rows();
  l.pages = limits_.pages();
  l.used_pages = batcher_->used_pages();
  l.seconds = t.prefill + t.decode;
  l.prompt_tokens = t.prompt_tokens;
  l.new_tokens = t.new_tokens;
  l.requests = requests_;
  queue_.tell(l);
}

// Moves jobs to the batcher while it has free rows; the others wait in the queue, which counts
// them.
void TextEngine::begin_waiting() {
  for (const uint64_t ticket : queue_.take_cancelled())
    if (const auto it = running_.find(ticket); it != running_.end()) {
      batcher_->cancel(it->second.ticket);
      running_.erase(it);
    }
  queue_.end_late(clock_.seconds());
  int64_t places = limits_.rows - static_cast<int64_t>(batcher_->running() + batcher_->waiting());
  for (auto& [ticket, job] : queue_.take([&](const TextJob&) { return places-- > 0; })) {
    Batcher::Request r{std::move(job.prompt), std::move(job.config)};
    r.token = std::move(job.token);
    r.done = [this, t = ticket](Result<std::vector<Generated>> all) {
      const auto it = running_.find(t);
      auto done = std::move(it->second.done);
      running_.erase(it);
      ++requests_;
      done(std::move(all));
    };
    if (job.begins) job.begins();
    running_[ticket] = {batcher_->add(std::move(r)), job.deadline, std::move(job.done)};
  }
  tell_load();
}

void TextEngine::end_late() {
  const Deadline now = clock_.seconds();
  for (auto it = running_.begin(); it != running_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    batcher_->cancel(it->second.ticket);
    const auto done = std::move(it->second.done);
    it = running_.erase(it);
    done(time_is_up());
  }
}

// Sequences that begin and end within a step count too.
void TextEngine::step() {
  const double begun = clock_.seconds();
  begin_waiting();
  const double taken = clock_.seconds();
  const int64_t before = batcher_->used_rows();
  if (batcher_->step())
    count({.sequences = std::max({before, batcher_->used_rows(), int64_t{1}}),
           .input = taken - begun,
           .infer = clock_.seconds() - taken});
  end_late();
}

void TextEngine::run() {
  while (queue_.wait(!running_.empty())) {
    try {
      step();
    } catch (const std::bad_alloc&) {
      log_if_thrown("a refusal", [this] { end_running(no_memory()); });
    }
    if (running_.empty()) tell_load();  // no other call reports until the next request
  }
  end_running(engine_ends());
  queue_.end_all();
}

void TextEngine::end_running(const Error& why) {
  batcher_->clear();
  const auto running = std::exchange(running_, {});
  for (const auto& [ticket, r] : running) log_if_thrown("an answer", [&, &d = r.done] { d(why); });
}

}  // namespace hone

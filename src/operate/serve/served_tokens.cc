// Answers by the scores of tokens: names in a text, and answers that are parts of a context.
#include <algorithm>

#include "base/core/characters.h"
#include "learn/answers/extracted_answer.h"
#include "learn/generate/errors.h"
#include "operate/serve/answer_watch.h"
#include "operate/serve/entities.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/served_model.h"

namespace hone {
namespace {

const Json& parameters_of(const TextQuery& query) {
  static const Json none;
  return query.settings ? *query.settings : none;
}

constexpr int64_t kMostAnswers =
    100;  // each part gives pairs of this number of beginnings and ends

struct AnswerSettings {
  AnswerRules rules;
  size_t count = 1;
};

// The settings of a request over those of the training, in the names of Transformers' question-answering
// pipeline.
Result<AnswerSettings> answer_settings(const Json& parameters, AnswerRules trained) {
  const auto wrong = [](const std::string& what) {
    return Error(err::kServeRequest, what)
        .at("parameters")
        .todo(
            "give {\"top_k\": 3, \"max_answer_len\": 30, \"handle_impossible_answer\": false}, or "
            "nothing");
  };
  AnswerSettings out{trained};
  if (parameters.is_null()) return out;
  if (!parameters.is_object()) return wrong("the parameters are not an object");
  for (const auto& [key, value] : parameters.items()) {
    const bool counts = value.is_number_integer() && value.get<int64_t>() >= 1;
    if (key == "top_k") {
      if (!counts || value.get<int64_t>() > kMostAnswers)
        return wrong(fmt::format("top_k is not a whole number from 1 to {}", kMostAnswers));
      out.count = value.get<size_t>();
    } else if (key == "max_answer_len") {
      if (!counts) return wrong("max_answer_len is not a positive whole number");
      out.rules.most_tokens = value.get<int64_t>();
    } else if (key == "handle_impossible_answer") {
      if (!value.is_boolean()) return wrong("handle_impossible_answer is not true or false");
      out.rules.may_lack = value.get<bool>();
    } else {
      return wrong(fmt::format("there is no parameter '{}'", key));
    }
  }
  out.rules.n_best = std::max(out.rules.n_best, static_cast<int64_t>(out.count));
  return out;
}

// The chosen answer, then the others, best first.
std::vector<Extracted> answers_of(const ExtractedAnswer& found, std::string_view context,
                                  size_t count) {
  std::vector<Extracted> out;
  const auto add = [&](const AnswerCandidate& c) {
    const bool none = c.to <= c.from;
    const auto characters = [&](size_t byte) {
      return none ? 0 : static_cast<size_t>(count_characters(context.substr(0, byte)));
    };
    out.push_back({none ? "" : c.text, c.probability, characters(c.from), characters(c.to)});
  };
  size_t first = found.best.size();
  if (found.chosen) first = *found.chosen;
  for (size_t i = 0; !found.chosen && i < found.best.size(); ++i)
    if (found.best[i].text.empty()) first = std::min(first, i);
  if (first < found.best.size()) add(found.best[first]);
  for (size_t i = 0; i < found.best.size() && out.size() < count; ++i)
    if (i != first) add(found.best[i]);
  return out;
}

}  // namespace

// The jobs of a question: a row for each part of its context. Used on the engine's thread.
struct ServedModel::Question {
  std::string context;
  std::vector<ContextPart> parts;
  std::vector<std::vector<float>> scores;  // [tokens, 2] of each part
  AnswerRules rules;
  size_t count = 1;  // of answers
  AnswerWatch watch;
  OnDone done;
  size_t left = 0;
  bool begun = false;
  uint64_t ticket = 0;

  TextAnswer answer() {
    std::vector<std::vector<float>> begins, ends;
    TextAnswer out;
    for (size_t i = 0; i < parts.size(); ++i) {
      auto& begin = begins.emplace_back();
      auto& end = ends.emplace_back();
      for (size_t t = 0; t + 1 < scores[i].size(); t += 2)
        begin.push_back(scores[i][t]), end.push_back(scores[i][t + 1]);
      out.prompt_tokens += std::ssize(parts[i].row.ids);
    }
    std::vector<ScoredPart> scored;
    for (size_t i = 0; i < parts.size(); ++i)
      scored.push_back({parts[i].context, parts[i].spans, begins[i], ends[i]});
    out.answers = answers_of(extract_answer(rules, context, scored), context, count);
    return out;
  }
};

AnswerRules ServedModel::answer_rules() const {
  const Json& s = model_.trained.settings;
  AnswerRules rules;
  if (const int64_t n = model_.trained.number("n_best_size"); n > 0) rules.n_best = n;
  if (const int64_t n = model_.trained.number("max_answer_length"); n > 0) rules.most_tokens = n;
  rules.may_lack = value_at(s, "version_2_with_negative") == Json(true);
  if (const Json& margin = value_at(s, "null_score_diff_threshold"); margin.is_number())
    rules.null_margin = margin.get<double>();
  return rules;
}

Result<uint64_t> ServedModel::ask_answer(RowEngine& engine, TextQuery query, OnDone on_done) {
  if (!query.pair)
    return Error(err::kServeRequest, "the instance is a text without a question and its context")
        .todo(R"(give {"question": "...", "context": "..."})");
  const AnswerSettings settings = HONE_TRY(answer_settings(parameters_of(query), answer_rules()));
  const Json& stride = value_at(model_.trained.settings, "doc_stride");
  const int64_t shared =
      stride.is_number_integer() ? stride.get<int64_t>() : std::min<int64_t>(128, longest_ / 2);
  CutContext cut = ContextCutter(tokenizer(), longest_, shared).cut(query.text, *query.pair);
  if (cut.parts.empty())
    return Error(err::kPromptTooLong,
                 fmt::format("a question of {} tokens leaves room for {} of its context",
                             cut.question_tokens, cut.room))
        .todo("shorten the question");
  const auto q = std::make_shared<Question>(Question{std::move(*query.pair),
                                                     std::move(cut.parts),
                                                     {},
                                                     settings.rules,
                                                     settings.count,
                                                     {statistics_, latencies_, *clock_},
                                                     std::move(on_done)});
  q->left = q->parts.size();
  q->scores.resize(q->left);
  q->watch.ready();
  // Held until all are submitted: no part is done before its question is known.
  std::lock_guard lock(questions_mutex_);
  std::vector<uint64_t> tickets;
  for (size_t i = 0; i < q->parts.size(); ++i) {
    Result<uint64_t> ticket = engine.submit(part_of(q, i, query));
    if (!ticket.ok()) {
      q->done = nullptr;
      for (const uint64_t t : tickets) engine.cancel(t);
      return ticket.error();
    }
    tickets.push_back(*ticket);
  }
  q->ticket = tickets[0];
  questions_[q->ticket] = std::move(tickets);
  return q->ticket;
}

RowJob ServedModel::part_of(const std::shared_ptr<Question>& q, size_t i, const TextQuery& query) {
  RowJob job;
  job.ids = q->parts[i].row.ids;
  job.types = q->parts[i].row.type_ids;
  job.deadline = query.deadline;
  job.follows = query.follows || i > 0;
  job.begins = [q] {
    if (!std::exchange(q->begun, true)) q->watch.begins();
  };
  job.done = [self = shared_from_this(), q, i](Result<std::vector<float>> scores) {
    OnDone done;
    {
      std::lock_guard lock(self->questions_mutex_);
      if (!q->done) return;  // another part failed
      if (scores.ok()) {
        q->scores[i] = std::move(*scores);
        if (--q->left > 0) return;
      }
      done = std::exchange(q->done, {});
      self->questions_.erase(q->ticket);
    }
    if (!scores.ok()) return done(std::move(scores.error()));
    q->watch.computed();
    TextAnswer answer = q->answer();
    q->watch.answered();
    done(std::move(answer));
  };
  return job;
}

void ServedModel::cancel(uint64_t ticket) {
  std::vector<uint64_t> all{ticket};
  {
    std::lock_guard lock(questions_mutex_);
    if (auto q = questions_.extract(ticket)) all = std::move(q.mapped());
  }
  for (const uint64_t t : all) engine_->cancel(t);
}

Result<uint64_t> ServedModel::ask_entities(RowEngine& engine, TextQuery query, OnDone on_done) {
  const auto watch = std::make_shared<AnswerWatch>(statistics_, latencies_, *clock_);
  if (query.pair) return Error(err::kServeRequest, "the model labels one text, not two");
  const EntityRules rules = HONE_TRY(entity_rules(parameters_of(query)));
  std::vector<int32_t> ids = tokenizer().encode(query.text, {.add_special_tokens = false});
  if (ids.empty())
    return Error(err::kBadPrompt, "the text has no tokens").todo("give it some text");
  Encoding row = tokenizer().with_special_tokens(ids);
  RowJob job;
  job.ids = std::move(row.ids);
  job.types = std::move(row.type_ids);
  job.follows = query.follows;
  job.deadline = query.deadline;
  const auto read = static_cast<int64_t>(job.ids.size());
  if (read > longest_)
    return Error(err::kPromptTooLong,
                 fmt::format("the text has {} tokens, the server takes {}", read, longest_))
        .todo("shorten the text, or send its sentences");
  job.begins = [watch] { watch->begins(); };
  job.done = [self = shared_from_this(), watch, read, rules, text = std::move(query.text),
              ids = std::move(ids),
              on_done = std::move(on_done)](Result<std::vector<float>> logits) {
    if (!logits.ok()) return on_done(std::move(logits.error()));
    watch->computed();
    const Tokenizer& tokenizer = self->tokenizer();
    const int64_t before = tokenizer.special_token_count(false) - tokenizer.special_tokens_after();
    const size_t labels = self->label_names_.size();
    TextAnswer answer;
    answer.prompt_tokens = read;
    answer.entities = find_entities(
        {tokenizer, text, ids, token_spans(tokenizer, text, ids),
         std::span<const float>(*logits).subspan(static_cast<size_t>(before) * labels),
         self->label_names_, before},
        rules);
    watch->answered();
    on_done(std::move(answer));
  };
  watch->ready();
  return engine.submit(std::move(job));
}

}  // namespace hone

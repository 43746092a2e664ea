// Answers by the most probable labels of texts and images, and words for masks.
#include <algorithm>

#include "operate/serve/answer_watch.h"
#include "operate/serve/probabilities.h"
#include "operate/serve/protocol/errors.h"
#include "operate/serve/served_model.h"
#include "operate/serve/text_instance.h"

namespace hone {
namespace {

constexpr const char* kDelimiter = "text_column_delimiter";  // a setting of the training

// Reads the settings of a request to a classifier or masked model.
Result<int64_t> top_k_of(const std::shared_ptr<const Json>& shared, int64_t otherwise) {
  if (!shared || shared->is_null()) return otherwise;
  const Json& settings = *shared;
  const auto wrong = [](const std::string& what) {
    return Error(err::kServeRequest, what).at("parameters").todo("give {\"top_k\": 5}, or nothing");
  };
  if (!settings.is_object()) return wrong("the parameters are not an object");
  for (const auto& [key, value] : settings.items()) {
    if (key != "top_k") return wrong(fmt::format("there is no parameter '{}'", key));
    if (value.is_null()) return INT64_MAX;
    if (!value.is_number_integer() || value.get<int64_t>() < 1)
      return wrong("top_k is not a positive whole number");
    return value.get<int64_t>();
  }
  return otherwise;
}

}  // namespace

// The most probable labels by softmax(logits); for a regression its number.
std::vector<std::vector<Scored>> ServedModel::best_of(std::span<const float> logits,
                                                      int64_t count) const {
  const bool masks = task_ == ServedTask::fill_mask;
  const auto width = static_cast<size_t>(masks ? model_.config.vocab : model_.config.labels);
  const Json names = model_.config.config.value("id2label", Json::object());
  std::vector<std::vector<Scored>> all;
  for (size_t at = 0; at + width <= logits.size(); at += width) {
    const auto row = logits.subspan(at, width);
    std::vector<Scored> best;
    if (width == 1) {
      best.push_back({names.is_object() ? text_at(names, "0") : "", static_cast<double>(row[0])});
      all.push_back(std::move(best));
      continue;
    }
    const std::vector<double> probabilities = probabilities_of(row);
    std::vector<int32_t> order(width);
    for (size_t i = 0; i < width; ++i) order[i] = static_cast<int32_t>(i);
    const auto keep =
        static_cast<std::ptrdiff_t>(std::min<int64_t>(count, static_cast<int64_t>(width)));
    const auto end = order.begin() + keep;
    std::partial_sort(order.begin(), end, order.end(), [&](int32_t a, int32_t b) {
      const float x = row[static_cast<size_t>(a)], y = row[static_cast<size_t>(b)];
      return x > y || (x == y && a < b);
    });
    for (auto i = order.begin(); i != end; ++i) {
      const double p = probabilities[static_cast<size_t>(*i)];
      if (masks)
        best.push_back({tokenizer().decode(std::span(&*i, 1)), p, *i});
      else if (!label_names_.empty())
        best.push_back({label_names_[static_cast<size_t>(*i)], p});
      else
        best.push_back({text_at(names, std::to_string(*i).c_str()), p});
    }
    all.push_back(std::move(best));
  }
  return all;
}

std::optional<std::string> ServedModel::trained_delimiter() const {
  const auto& settings = model_.trained.settings;
  const auto it = settings.find(kDelimiter);
  if (it == settings.end() || !it->is_string()) return {};
  return it->get<std::string>();
}

Result<uint64_t> ServedModel::ask_rows(RowEngine& engine, TextQuery query, OnDone on_done) {
  const auto watch = std::make_shared<AnswerWatch>(statistics_, latencies_, *clock_);
  const bool masks = task_ == ServedTask::fill_mask;
  if (reads_pairs() && !query.pair && query.tokens.empty())
    return Error(err::kServeRequest,
                 fmt::format("'{}' reads pairs of texts, and a second text is missing", name_))
        .todo("give an object such as " + pair_form(*this));
  const int64_t top_k = HONE_TRY(top_k_of(query.settings, masks ? 5 : 1));
  RowJob job;
  job.follows = query.follows;
  if (!query.tokens.empty()) {
    job.ids = std::move(query.tokens);
  } else {
    Encoding encoded;
    std::optional<std::string_view> pair;
    if (query.pair) pair = *query.pair;
    const std::string text = prefix_ + query.text;
    HONE_TRY(tokenizer().encode_to(
        text, pair, encoded, {.add_special_tokens = query.special_tokens},
        tokenizer().truncate_options(
            masks ? Truncation::do_not_truncate : Truncation::longest_first, longest_)));
    job.ids = std::move(encoded.ids);
    job.types = std::move(encoded.type_ids);
  }
  if (masks) {
    for (size_t i = 0; i < job.ids.size(); ++i)
      if (job.ids[i] == mask_) job.places.push_back(static_cast<int32_t>(i));
    if (job.places.empty())
      return Error(err::kServeRequest, "the text has no mask")
          .at("instances")
          .todo(fmt::format("put {} in the place of the word to find",
                            tokenizer().decode(std::span(&mask_, 1))));
  }
  job.deadline = query.deadline;
  const auto read = static_cast<int64_t>(job.ids.size());
  job.begins = [watch] { watch->begins(); };
  job.done = [self = shared_from_this(), watch, read, top_k,
              on_done = std::move(on_done)](Result<std::vector<float>> logits) {
    if (!logits.ok()) return on_done(std::move(logits.error()));
    watch->computed();
    TextAnswer answer;
    answer.prompt_tokens = read;
    if (self->task_ == ServedTask::embedding)
      answer.embedding = std::move(*logits);
    else
      answer.labels = self->best_of(*logits, top_k);
    watch->answered();
    on_done(std::move(answer));
  };
  watch->ready();
  return engine.submit(std::move(job));
}

Result<uint64_t> ServedModel::ask_images(ImageEngine& engine, const TextQuery& query,
                                         OnDone on_done) {
  const auto watch = std::make_shared<AnswerWatch>(statistics_, latencies_, *clock_);
  const int64_t top_k = HONE_TRY(top_k_of(query.settings, 1));
  if (query.image.empty())
    return Error(err::kServeRequest, fmt::format("'{}' classifies images, not texts", name_))
        .todo("send an instance such as {\"b64\": \"...\"}");
  ImageJob job;
  job.pixels = HONE_TRY(images_->decode(query.image));
  job.follows = query.follows;
  job.deadline = query.deadline;
  job.begins = [watch] { watch->begins(); };
  job.done = [self = shared_from_this(), watch, top_k,
              on_done = std::move(on_done)](Result<std::vector<float>> logits) {
    if (!logits.ok()) return on_done(std::move(logits.error()));
    watch->computed();
    TextAnswer answer;
    answer.labels = self->best_of(*logits, top_k);
    watch->answered();
    on_done(std::move(answer));
  };
  watch->ready();
  return engine.submit(std::move(job));
}

}  // namespace hone

// Summaries of texts: run_summarization.
#include <map>

#include "learn/tasks/seq2seq.h"

namespace hone {
namespace {

struct SummarizationSettings : Seq2SeqSettings {
#define HONE_SETTINGS "learn/tasks/summarization_settings.def"
#include "base/settings/fields.inc"
};

// The columns that run_summarization knows, by the last part of the data set's name.
struct Columns {
  std::string text, summary;
};
const Columns* known_columns(const std::string& dataset) {
  static const std::map<std::string, Columns> known = {
      {"amazon_reviews_multi", {"review_body", "review_title"}},
      {"big_patent", {"description", "abstract"}},
      {"cnn_dailymail", {"article", "highlights"}},
      {"orange_sum", {"text", "summary"}},
      {"pn_summary", {"article", "summary"}},
      {"psc", {"extract_text", "summary_text"}},
      {"samsum", {"dialogue", "summary"}},
      {"thaisum", {"body", "summary"}},
      {"xglue", {"news_body", "news_title"}},
      {"xsum", {"document", "summary"}},
      {"wiki_summary", {"article", "highlights"}},
      {"multi_news", {"document", "summary"}}};
  const std::string name = dataset.substr(0, dataset.find('@'));
  const auto at = known.find(name.substr(name.find_last_of('/') + 1));
  return at == known.end() ? nullptr : &at->second;
}

PairColumnOptions summarization_wanted(const SummarizationSettings& s) {
  PairColumnOptions wanted;
  if (const Columns* known = known_columns(s.dataset_name)) {
    wanted.source_column = known->text;
    wanted.target_column = known->summary;
  }
  if (!s.text_column.empty()) wanted.source_column = s.text_column;
  if (!s.summary_column.empty()) wanted.target_column = s.summary_column;
  return wanted;
}

SampleProject summarization_sample() {
  return {
      .model = tiny_encoder_decoder(),
      .row = [](int i) -> OrderedJson {
        const SampleSentence s = sample_sentence(i);
        return {{"document",
                 fmt::format("In {}, the ferry to {} leaves at {}.", s.weather, s.place, s.time)},
                {"summary", fmt::format("A ferry to {} at {}.", s.place, s.time)}};
      },
      // To copy what it reads, so small a model needs more steps than to name it.
      .keys = {{"epochs", 100}, {"document_column", "document"}, {"summary_column", "summary"}},
      .flags = {{"learning_rate", 0.005}, {"max_source_length", 64}, {"max_target_length", 48}}};
}

}  // namespace

Task task_summarization() {
  const auto s = std::make_shared<SummarizationSettings>();
  return seq2seq_task({.name = "summarization",
                       .summary = "summaries of texts, by an encoder-decoder",
                       .settings = s,
                       .bind =
                           [s](Schema& schema) {
                             s->bind(schema);
                             s->Seq2SeqSettings::bind(schema);
                           },
                       .wanted = [s] { return summarization_wanted(*s); },
                       .side =
                           [s](bool targets) {
                             return TokenizerSide{targets, s->lang, s->lang};
                           },
                       .beams = [s] { return s->num_beams; },
                       .metric = "rouge",
                       .compared_by = "rougeLsum",
                       .sample = summarization_sample(),
                       .nltk_folder = [s] { return s->nltk_data; },
                       .task_key = [] { return "summarization"; },
                       .usual_prefix = [] { return "summarize: "; }});
}

}  // namespace hone

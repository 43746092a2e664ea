// Answers to questions by an encoder-decoder that generates them: run_seq2seq_qa.
#include <algorithm>
#include <map>

#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/tasks/qa_answers.h"
#include "learn/tasks/seq2seq.h"

namespace hone {
namespace {

struct GenerativeQaSettings : Seq2SeqSettings {
#define HONE_SETTINGS "learn/tasks/generative_qa_settings.def"
#include "base/settings/fields.inc"
};
using GenerativeQaPtr = std::shared_ptr<GenerativeQaSettings>;

// Questions by split, in the order of their rows.
using QuestionsBySplit = std::map<std::string, std::vector<QaExample>>;

std::string_view without_space_before(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n\f\v");
  return first == text.npos ? std::string_view() : text.substr(first);
}

// Adds the rows of some questions; rows to predict may have no answers.
Status add_questions(std::span<const QaQuestion> questions, const PairSource& source,
                     std::string_view file, int64_t line, bool is_row, PairRows& out) {
  std::vector<std::string> texts;
  for (const QaQuestion& q : questions)
    texts.push_back(source.options.prefix + fmt::format("question: {} context: {}",
                                                        without_space_before(q.question),
                                                        without_space_before(q.example.context)));
  std::vector<std::string_view> sources(texts.begin(), texts.end()), targets;
  for (const QaQuestion& q : questions)
    targets.emplace_back(q.example.answers.empty() ? std::string_view() : q.example.answers[0]);
  EncodedSide from, to;
  HONE_TRY(source.options.source(sources, from));
  HONE_TRY(source.options.target(targets, to));
  for (size_t i = 0; i < questions.size(); ++i) {
    out.sources.add(from.ids[i], out.sources.place_in(file, line, is_row));
    out.targets.add(to.ids[i], out.targets.place_in(file, line, is_row));
    out.counts.sources_cut += from.cut[i], out.counts.targets_cut += to.cut[i];
    ++out.counts.rows_read;
  }
  if (out.first_source.empty() && !texts.empty())
    out.first_source = texts[0].substr(source.options.prefix.size());
  return Ok{};
}

Result<PairRows> read_question_pairs(const GenerativeQaSettings& s, const PairSource& source,
                                     QuestionsBySplit& all) {
  RowOptions options;
  options.format = s.data_format;
  options.encoding = HONE_TRY(encoding_of(s.encoding));
  options.header_example =
      fmt::format("{},{},{}", s.question_column, s.context_column, s.answer_column);
  QaReader reader = HONE_TRY(QaReader::open(
      source.files, options,
      {.question = s.question_column, .context = s.context_column, .answers = s.answer_column}));
  PairRows out;
  std::vector<QaExample>& examples = all[source.split];
  examples.clear();
  std::vector<QaQuestion> questions;
  for (bool more = true; more;) {
    questions.clear();
    more = HONE_TRY(reader.next(questions));
    const auto room =
        static_cast<size_t>(source.limit < 0 ? INT64_MAX : source.limit - std::ssize(examples));
    if (questions.size() >= room) questions.resize(room), more = false;
    const Row& row = reader.row();
    HONE_TRY(add_questions(questions, source, row.file, row.line, row.line_is_row, out));
    for (QaQuestion& q : questions) {
      q.example.context = {};  // only the id and the answers are needed again
      examples.push_back(std::move(q.example));
    }
  }
  if (examples.empty())
    return Error(err::kNoRows, fmt::format("the {} data has no question", source.split))
        .at(source.files[0])
        .todo("give more data");
  out.has_targets =
      !source.options.predict || std::any_of(examples.begin(), examples.end(),
                                             [](const QaExample& e) { return !e.answers.empty(); });
  return out;
}

// Scores the texts of the questions to evaluate, which are the first of the training file if the file is split.
OrderedJson score_texts(const GenerativeQaSettings& s, const QuestionsBySplit& all, bool predicted,
                        std::span<const std::string> texts) {
  const auto own = all.find(predicted ? "test" : "validation");
  const std::vector<QaExample>& read = own == all.end() ? all.at("train") : own->second;
  return score_answers(read, texts, s.version_2_with_negative,
                       predicted ? nullptr : s.example_scores.get());
}

}  // namespace

Task task_generative_qa() {
  const auto s = std::make_shared<GenerativeQaSettings>();
  s->max_source_length = 384, s->max_target_length = 30;  // as run_seq2seq_qa's
  const auto questions = std::make_shared<QuestionsBySplit>();
  return seq2seq_task(
      {.name = "generative_qa",
       .summary = "answers to questions about a text, by an encoder-decoder",
       .settings = s,
       .bind =
           [s](Schema& schema) {
             s->Seq2SeqSettings::bind(schema);
             s->bind(schema);
           },
       .wanted = [] { return PairColumnOptions(); },
       .side =
           [](bool targets) {
             return TokenizerSide{targets, "", ""};
           },
       .beams = [s] { return s->num_beams; },
       .metric = "squad",
       .compared_by = "f1",
       .sample = SampleProject{.model = tiny_encoder_decoder(),
                               .row = sample_question,
                               .flags = {{"max_source_length", 192}, {"max_target_length", 16}}},
       .read =
           [s, questions](const PairSource& source) {
             return read_question_pairs(*s, source, *questions);
           },
       .score =
           [s, questions](bool predicted, std::span<const std::string> texts) {
             return score_texts(*s, *questions, predicted, texts);
           },
       .task_key = [] { return "question_answering"; },
       .usual_prefix = [] { return ""; }});
}

}  // namespace hone

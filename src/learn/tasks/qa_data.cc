#include "learn/tasks/qa_data.h"

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"

namespace hone {
namespace {

// As run_qa: the last token that begins at or before the answer, and the first that ends at or after it; an
// answer that is not whole in the part is at the first token.
void find_answer(size_t begin, size_t end, QaPart& part) {
  const auto& spans = part.spans;
  if (spans.empty() || spans.front().first > begin || spans.back().second < end) return;
  size_t from = 0, to = spans.size() - 1;
  while (from < spans.size() && spans[from].first <= begin) ++from;
  while (to > 0 && spans[to - 1].second >= end) --to;
  part.begin = part.context + static_cast<int32_t>(from) - 1;
  part.end = part.context + static_cast<int32_t>(to);
}

// Adds the rows of a question, and finds the answer in each.
Status add_question(const ContextCutter& cutter, const QaQuestion& q, int64_t example, QaSplit& out,
                    RowOrigin place) {
  CutContext cut = cutter.cut(q.question, q.example.context);
  if (cut.parts.empty())
    return Error(err::kEmptyField,
                 fmt::format("a question of {} leaves room for {} of its context",
                             count_of(cut.question_tokens, "token"), count_of(cut.room, "token")))
        .at(q.where)
        .todo("raise --max_seq_length, or lower --doc_stride");
  for (ContextPart& p : cut.parts) {
    QaPart part{.example = example, .context = p.context, .spans = std::move(p.spans)};
    if (q.answer_begin)
      find_answer(*q.answer_begin, *q.answer_begin + q.example.answers[0].size(), part);
    out.rows.add(p.row.ids, place);
    out.types.insert(out.types.end(), p.row.type_ids.begin(), p.row.type_ids.end());
    out.parts.push_back(std::move(part));
  }
  return Ok{};
}

constexpr const char *kQaTypes = "token_type_ids", *kQaSpans = "spans", *kQaPlace = "place";

Result<OrderedJson> qa_shard_settings(const QaSettings& s, const Pretrained& model, bool all) {
  OrderedJson j;
  j["task"] = "qa";
  j["tokenizer"] = tokenizer_hash(*HONE_TRY(tokenizer_of(model)));
  add_row_settings(schema_of(s), {{"max_seq_length", s.row_tokens(model.config)}}, all, j);
  return j;
}

RowSplit qa_shards_of(const std::string& name, const QaSplit& split) {
  TokenRows types, spans, places, ids;
  auto type = split.types.begin();
  for (int64_t i = 0; i < split.rows.size(); ++i) {
    const QaPart& part = split.parts[static_cast<size_t>(i)];
    const auto row = split.rows.row(i);
    ids.add(row);
    types.add(std::vector<int32_t>(type, type + std::ssize(row)));
    type += std::ssize(row);
    std::vector<int32_t> ends;
    for (const auto& [begin, end] : part.spans)
      ends.insert(ends.end(), {static_cast<int32_t>(begin), static_cast<int32_t>(end)});
    spans.add(ends);
    places.add(std::vector<int32_t>{static_cast<int32_t>(part.example), part.context, part.begin,
                                    part.end});
  }
  OrderedJson contexts = OrderedJson::array(), questions = OrderedJson::array();
  for (const QaExample& e : split.examples) {
    if (contexts.empty() || contexts.back() != e.context) contexts.push_back(e.context);
    questions.push_back({e.id, contexts.size() - 1, e.answers});
  }
  RowSplit out{name, std::move(ids), {}, {{"contexts", contexts}, {"questions", questions}}};
  out.beside.push_back({kQaTypes, std::move(types)});
  out.beside.push_back({kQaSpans, std::move(spans)});
  out.beside.push_back({kQaPlace, std::move(places)});
  return out;
}

// The questions of prepared rows, at most `most`; false: they are not hone's.
bool take_questions(const OrderedJson& about, int64_t most, std::vector<QaExample>& to) {
  const OrderedJson contexts = about.value("contexts", OrderedJson::array());
  for (const OrderedJson& q : about.value("questions", OrderedJson::array())) {
    if (most >= 0 && std::ssize(to) >= most) break;
    const bool fits = q.is_array() && q.size() == 3 && q[0].is_string() &&
                      q[1].is_number_integer() && q[1].get<int64_t>() >= 0 &&
                      q[1].get<int64_t>() < std::ssize(contexts) && q[2].is_array();
    if (!fits || !contexts[q[1].get<size_t>()].is_string()) return false;
    QaExample& e = to.emplace_back();
    e.id = q[0], e.context = contexts[q[1].get<size_t>()];
    for (const OrderedJson& answer : q[2])
      e.answers.push_back(answer.is_string() ? answer.get<std::string>() : std::string());
  }
  return !to.empty();
}

Result<QaSplit> open_qa_shards(const std::string& folder, const ShardManifest& made,
                               const std::string& split, int64_t most_rows) {
  const ListShards from =
      HONE_TRY(open_list_shards(folder, made, split, {kQaTypes, kQaSpans, kQaPlace}));
  QaSplit out;
  if (!take_questions(from.about, most_rows, out.examples))
    return other_rows(folder, split, "has other questions");
  for (int64_t i = 0; i < from.ids.size(); ++i) {
    const auto ids = from.ids.row(i), types = from.lists[0].row(i), spans = from.lists[1].row(i),
               place = from.lists[2].row(i);
    bool fits = types.size() == ids.size() && spans.size() % 2 == 0 && place.size() == 4 &&
                place[0] >= (out.parts.empty() ? 0 : out.parts.back().example);
    for (size_t k = 1; fits && k < 4; ++k) fits = place[k] >= 0 && place[k] <= std::ssize(ids);
    if (fits && place[0] >= std::ssize(out.examples)) break;
    const size_t bytes = fits ? out.examples[static_cast<size_t>(place[0])].context.size() : 0;
    for (size_t k = 0; fits && k < spans.size(); k += 2)
      fits =
          spans[k] >= 0 && spans[k] <= spans[k + 1] && static_cast<size_t>(spans[k + 1]) <= bytes;
    if (!fits) return other_rows(folder, split, fmt::format("has other columns in row {}", i));
    QaPart& part = out.parts.emplace_back(
        QaPart{.example = place[0], .begin = place[2], .end = place[3], .context = place[1]});
    for (size_t k = 0; k < spans.size(); k += 2)
      part.spans.emplace_back(static_cast<size_t>(spans[k]), static_cast<size_t>(spans[k + 1]));
    out.rows.add(ids);
    for (const int32_t one : types) out.types.push_back(static_cast<uint8_t>(one));
  }
  return out;
}

Result<LabelSources> qa_sources(const QaSettings& s) {
  LabelSourceRequest request = named_sources(s, s.test_file);
  request.glue = false;
  return find_label_sources(request);
}

std::string describe_questions(const QaSplit& split) {
  return fmt::format("{} -> {} of {}", count_of(std::ssize(split.examples), "question"),
                     count_of(split.rows.size(), "row"), count_of(split.rows.tokens(), "token"));
}

Result<QaSplit> read_qa_split(const QaSettings& s, const Pretrained& model,
                              const std::string& split, const std::vector<std::string>& patterns,
                              int64_t most_rows, int64_t& rows_read,
                              std::vector<std::string>& notes) {
  if (is_shard_folder(patterns[0])) {
    const ShardManifest made =
        HONE_TRY(checked_shards(patterns, HONE_TRY(qa_shard_settings(s, model, false))));
    QaSplit shards = HONE_TRY(open_qa_shards(patterns[0], made, split, most_rows));
    rows_read = std::ssize(shards.examples);
    notes.push_back(fmt::format("{}: {}", split, describe_questions(shards)));
    return shards;
  }
  RowOptions options;
  options.format = s.data_format;
  options.encoding = HONE_TRY(encoding_of(s.encoding));
  options.header_example = "id,question,context,answers";
  QaReader reader = HONE_TRY(QaReader::open(HONE_TRY(expand_files(patterns, split)), options));
  const ContextCutter cutter(*HONE_TRY(tokenizer_of(model)), s.row_tokens(model.config),
                             s.doc_stride);
  QaSplit out;
  std::vector<QaQuestion> questions;
  for (bool more = true; more;) {
    questions.clear();
    more = HONE_TRY(reader.next(questions));
    for (QaQuestion& q : questions) {
      ++rows_read;
      if (most_rows >= 0 && std::ssize(out.examples) >= most_rows) continue;
      const Row& row = reader.row();
      HONE_TRY(add_question(cutter, q, std::ssize(out.examples), out,
                            out.rows.place_in(row.file, row.line, row.line_is_row)));
      out.examples.push_back(std::move(q.example));
    }
  }
  if (out.examples.empty())
    return Error(err::kNoRows, fmt::format("the {} data has no question", split))
        .at(patterns[0])
        .todo("give more data");
  out.rows.shrink();
  notes.push_back(fmt::format("{}: {}", split, describe_questions(out)));
  return out;
}

// Moves the first questions with their parts into a split of their own.
QaSplit take_first_questions(QaSplit& from, int64_t count) {
  QaSplit first, rest;
  auto type = from.types.begin();
  for (int64_t i = 0; i < std::ssize(from.examples); ++i)
    (i < count ? first : rest).examples.push_back(std::move(from.examples[static_cast<size_t>(i)]));
  for (int64_t i = 0; i < std::ssize(from.parts); ++i) {
    QaPart& part = from.parts[static_cast<size_t>(i)];
    QaSplit& to = part.example < count ? first : rest;
    if (part.example >= count) part.example -= count;
    to.rows.add_from(from.rows, i);
    const auto end = type + from.rows.length(i);
    to.types.insert(to.types.end(), type, end);
    type = end;
    to.parts.push_back(std::move(part));
  }
  from = std::move(rest);
  return first;
}

}  // namespace

Result<QaData> read_qa(const QaSettings& s, const Pretrained& model, ThreadPool&) {
  const LabelSources sources = HONE_TRY(qa_sources(s));
  QaData out;
  out.notes = sources.notes;
  int64_t rows = 0;
  const auto read = [&](const char* name, const std::vector<std::string>& files, int64_t most,
                        int64_t& all) {
    return read_qa_split(s, model, name, files, most, all, out.notes);
  };
  const bool splits = s.do_eval && sources.validation.empty();
  if (s.do_train || splits)
    out.train =
        HONE_TRY(read("train", sources.train, splits ? -1 : s.max_train_samples, out.train_rows));
  if (splits) {
    const int64_t kept = HONE_TRY(keep_for_validation(
        std::ssize(out.train->examples), s.validation_split_percentage, s.do_train, out.notes));
    out.eval = take_first_questions(*out.train, kept);
    out.train_rows -= kept;
    const auto keep = [](QaSplit& split, int64_t most) {
      if (most >= 0 && most < std::ssize(split.examples)) split = take_first_questions(split, most);
    };
    keep(*out.train, s.max_train_samples);
    keep(*out.eval, s.max_eval_samples);
    if (!s.do_train) out.train.reset();
  } else if (s.do_eval) {
    out.eval = HONE_TRY(read("validation", sources.validation, s.max_eval_samples, rows));
  }
  if (s.do_predict) out.test = HONE_TRY(read("test", sources.test, s.max_predict_samples, rows));
  return out;
}

PreparedSource qa_source(const std::shared_ptr<QaSettings>& s) {
  return {
      .choose_splits = [s] { want_named_splits(*s, s->test_file); },
      .sources = [s] { return qa_sources(*s); },
      .shard_settings = [s](const Pretrained& model) { return qa_shard_settings(*s, model, true); },
      .splits = [s](const Pretrained& model, const LabelSources&, ThreadPool& pool,
                    std::vector<std::string>& notes) -> Result<std::vector<RowSplit>> {
        const QaData data = HONE_TRY(read_qa(*s, model, pool));
        notes = data.notes;
        std::vector<RowSplit> splits;
        for (const auto& [name, split] :
             {std::pair("train", &data.train), {"validation", &data.eval}, {"test", &data.test}})
          if (*split) splits.push_back(qa_shards_of(name, **split));
        return splits;
      }};
}

#define HONE_BIND QaSettings::bind
#define HONE_SETTINGS "learn/tasks/qa_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone

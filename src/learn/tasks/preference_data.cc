#include "learn/tasks/preference_data.h"

#include <bit>

#include "base/core/text.h"
#include "base/store/hash.h"
#include "learn/check/row_faults.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"

namespace hone {
namespace {

using PreferenceRows = PreferenceForm::Rows;

struct EncodedPreference {
  EncodedAnswer first, second;  // `second`: of pairs
};

// The rows of the file become rows of tokens, some at a time on all threads.
class PreferenceBatch {
 public:
  PreferenceBatch(const InstructionEncoder& encoder, const PreferenceForm& form, int64_t most,
                  ThreadPool& pool, PreferenceSplit& out)
      : encoder_(encoder), form_(form), most_(most), pool_(pool), out_(out) {}

  Status add(PreferenceRow row) {
    rows_.push_back(std::move(row));
    ++out_.counts.rows_read;
    return rows_.size() < kBatchRows ? Status(Ok{}) : flush();
  }

  Status flush() {
    std::vector<std::optional<Result<EncodedPreference>>> encoded(rows_.size());
    pool_.parallel_for(static_cast<int64_t>(rows_.size()), [&](int64_t begin, int64_t end, int) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        encoded[i].emplace(encode(rows_[i]));
    });
    for (size_t i = 0; i < encoded.size(); ++i) {
      if (!encoded[i]->ok()) return encoded[i]->error().at(rows_[i].where);
      take(rows_[i], std::move(**encoded[i]));
    }
    rows_.clear();
    return Ok{};
  }

 private:
  bool pairs() const { return form_.rows != PreferenceRows::labels; }

  Result<EncodedAnswer> answer(const PreferenceRow& row, const OrderedJson& text) const {
    InstructionRow one;
    one.tools = row.tools, one.kwargs = row.kwargs;
    one.answer = text;
    if (form_.rows != PreferenceRows::whole_pairs) {
      one.prompt = row.prompt;
    } else if (row.prompt.is_array()) {
      one.answer = row.prompt;
      one.answer.insert(one.answer.end(), text.begin(), text.end());
    } else if (row.prompt.is_string()) {
      one.answer = row.prompt.get<std::string>() + text.get<std::string>();
    }
    EncodedInstruction made = HONE_TRY(encoder_.encode(one));
    EncodedAnswer out{std::move(made.ids), std::move(made.labels)};
    const auto learnt = [](int32_t label) { return label != kIgnoreLabel; };
    out.prompt = std::find_if(out.labels.begin(), out.labels.end(), learnt) - out.labels.begin();
    return out;
  }

  Result<EncodedPreference> encode(const PreferenceRow& row) const {
    EncodedPreference out;
    out.first = HONE_TRY(answer(row, row.chosen));
    if (!pairs()) return out;
    out.second = HONE_TRY(answer(row, row.rejected));
    // Both answers begin where the tokens of one of them differ from the prompt's.
    const int64_t prompt = std::min(out.first.prompt, out.second.prompt);
    for (EncodedAnswer* a : {&out.first, &out.second}) {
      for (auto i = static_cast<size_t>(prompt); i < a->ids.size(); ++i) a->labels[i] = a->ids[i];
      a->prompt = prompt;
    }
    return out;
  }

  void take(const PreferenceRow& from, EncodedPreference row) {
    const auto is_long = [&](const EncodedAnswer& a) { return std::ssize(a.ids) > most_; };
    const bool cuts = is_long(row.first) || (pairs() && is_long(row.second));
    const bool whole = form_.rows == PreferenceRows::whole_pairs;
    if (whole ? cuts : row.first.prompt >= most_) {
      ++out_.counts.rows_long;
      return;
    }
    out_.counts.rows_cut += cuts;
    if (form_.keeps_whole) out_.whole.push_back(row.first);
    row.first.cut(most_), row.second.cut(most_);
    LabelledRows& data = out_.data;
    const auto first = static_cast<int32_t>(row.first.ids.size());
    data.labels.classes.push_back(pairs() ? first : from.wanted);
    std::vector<int32_t>& ids = row.first.ids;
    ids.insert(ids.end(), row.second.ids.begin(), row.second.ids.end());
    data.rows.add(ids, data.rows.place_in(from.file, from.line, from.line_is_row));
    for (const EncodedAnswer* a : {&row.first, &row.second})
      data.labels.tags.insert(data.labels.tags.end(), a->labels.begin(), a->labels.end());
    data.labels.values.push_back(static_cast<float>(from.margin));
  }

  const InstructionEncoder& encoder_;
  const PreferenceForm& form_;
  int64_t most_;
  ThreadPool& pool_;
  PreferenceSplit& out_;
  std::vector<PreferenceRow> rows_;
};

std::string describe_answers(const PreferenceSplit& split, int64_t limit) {
  const PreferenceCounts& c = split.counts;
  std::string text = fmt::format("{} -> {}", count_of(split.data.size(), "row"),
                                 count_of(split.data.rows.tokens(), "token"));
  if (c.rows_cut > 0)
    text += fmt::format("; {} cut at {}", count_of(c.rows_cut, "row"), grouped(limit));
  if (c.rows_long > 0)
    text += fmt::format("; {} left out, too long for {} tokens", count_of(c.rows_long, "row"),
                        grouped(limit));
  return text;
}

Result<LabelSources> preference_sources(const PreferenceSettings& s) {
  LabelSourceRequest request = named_sources(s, {});
  request.glue = false;
  return find_label_sources(request);
}

constexpr const char *kAnswerTags = "labels", *kAnswerClass = "answer", *kAnswerMargin = "margin";

Result<OrderedJson> preference_shard_settings(const PreferenceSettings& s,
                                              const PreferenceForm& form, const Pretrained& model,
                                              bool all) {
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const ChatTemplates templates = HONE_TRY(chat_templates(s.chat_template_path, tokenizer));
  OrderedJson j;
  j["task"] = form.task;
  j["tokenizer"] = tokenizer_hash(tokenizer);
  j["chat_template"] = sha256_of_text(templates.chat + templates.tools);
  add_row_settings(form.schema(),
                   {{"max_length", s.row_tokens(model.config)}, {"chat_template_path", ""}}, all,
                   j);
  return j;
}

RowSplit answer_shards_of(const std::string& name, const PreferenceForm& form,
                          const PreferenceSplit& split) {
  TokenRows ids, labels, answers, margins;
  const LabelledRows& data = split.data;
  for (int64_t i = 0; i < data.size(); ++i) {
    const auto k = static_cast<size_t>(i);
    ids.add(form.keeps_whole ? std::span<const int32_t>(split.whole[k].ids) : data.rows.row(i));
    labels.add(form.keeps_whole ? std::span<const int32_t>(split.whole[k].labels)
                                : data.labels.tags_of(data.rows, i));
    answers.add(std::vector<int32_t>{data.labels.classes[k]});
    const float margin = data.labels.values.empty() ? 0.0f : data.labels.values[k];
    margins.add(std::vector<int32_t>{std::bit_cast<int32_t>(margin)});
  }
  RowSplit out{name,
               std::move(ids),
               {},
               {{"rows_read", split.counts.rows_read},
                {"rows_cut", split.counts.rows_cut},
                {"rows_long", split.counts.rows_long}}};
  out.beside.push_back({kAnswerTags, std::move(labels)});
  out.beside.push_back({kAnswerClass, std::move(answers)});
  out.beside.push_back({kAnswerMargin, std::move(margins)});
  return out;
}

Result<PreferenceSplit> open_preference_shards(const PreferenceForm& form, int64_t most,
                                               const std::string& folder, const ShardManifest& made,
                                               const std::string& split) {
  const ListShards from =
      HONE_TRY(open_list_shards(folder, made, split, {kAnswerTags, kAnswerClass, kAnswerMargin}));
  PreferenceSplit out;
  out.counts = {whole_at(from.about, "rows_read"), whole_at(from.about, "rows_cut"),
                whole_at(from.about, "rows_long")};
  for (int64_t i = 0; i < from.ids.size(); ++i) {
    const auto ids = from.ids.row(i), labels = from.lists[0].row(i), answer = from.lists[1].row(i),
               margin = from.lists[2].row(i);
    bool fits = labels.size() == ids.size() && answer.size() == 1 && margin.size() == 1;
    for (size_t t = 0; fits && t < ids.size(); ++t)
      fits = labels[t] == kIgnoreLabel || labels[t] == ids[t];
    const int32_t highest =
        form.rows == PreferenceRows::labels ? 1 : static_cast<int32_t>(ids.size());
    if (!fits || answer[0] < 0 || answer[0] > highest)
      return other_rows(folder, split, fmt::format("has other columns in row {}", i));
    EncodedAnswer row{{ids.begin(), ids.end()}, {labels.begin(), labels.end()}};
    const auto learnt = [](int32_t label) { return label != kIgnoreLabel; };
    row.prompt = std::find_if(labels.begin(), labels.end(), learnt) - labels.begin();
    if (form.keeps_whole) {
      out.whole.push_back(row);
      row.cut(most);
    }
    out.data.rows.add(row.ids);
    out.data.labels.tags.insert(out.data.labels.tags.end(), row.labels.begin(), row.labels.end());
    out.data.labels.classes.push_back(answer[0]);
    out.data.labels.values.push_back(std::bit_cast<float>(margin[0]));
  }
  return out;
}

Result<PreferenceSplit> read_split(const PreferenceSettings& s, const PreferenceForm& form,
                                   const Pretrained& model, const InstructionEncoder& encoder,
                                   int64_t most, ThreadPool& pool, const std::string& split,
                                   const std::vector<std::string>& patterns,
                                   std::vector<std::string>& notes) {
  if (is_shard_folder(patterns[0])) {
    const ShardManifest made = HONE_TRY(
        checked_shards(patterns, HONE_TRY(preference_shard_settings(s, form, model, false))));
    PreferenceSplit rows = HONE_TRY(open_preference_shards(form, most, patterns[0], made, split));
    notes.push_back(fmt::format("{}: {}", split, describe_answers(rows, most)));
    return rows;
  }
  PreferenceReader::Wanted wanted;
  wanted.labels = form.rows == PreferenceRows::labels;
  wanted.extract_prompt = form.rows != PreferenceRows::whole_pairs;
  wanted.rows.format = s.data_format;
  wanted.rows.encoding = HONE_TRY(encoding_of(s.encoding));
  wanted.rows.header_example = wanted.labels ? "prompt,completion,label" : "prompt,chosen,rejected";
  PreferenceReader reader =
      HONE_TRY(PreferenceReader::open(HONE_TRY(expand_files(patterns, split)), wanted));
  PreferenceSplit out;
  PreferenceBatch batch(encoder, form, most, pool, out);
  for (PreferenceRow row; HONE_TRY(reader.next(row));) HONE_TRY(batch.add(std::move(row)));
  HONE_TRY(batch.flush());
  if (!reader.has_margins()) out.data.labels.values.clear();
  out.data.rows.shrink();
  notes.push_back(fmt::format("{}: {}: {}", split, reader.note(), describe_answers(out, most)));
  if (out.data.size() == 0)
    return Error(err::kNoRows, fmt::format("no row of the {} data has room for an answer", split))
        .at(patterns[0])
        .todo("raise --max_length");
  return out;
}

void keep_rows(PreferenceSplit& split, int64_t rows) {
  split.data.keep_first(rows);
  if (!split.whole.empty()) split.whole.resize(static_cast<size_t>(rows));
}

// Moves the first rows of `from` into a split of their own.
PreferenceSplit take_first(PreferenceSplit& from, int64_t rows) {
  PreferenceSplit first, rest;
  first.data.append(from.data, 0, rows);
  rest.data.append(from.data, rows, from.data.size());
  if (!from.whole.empty()) {
    const auto middle = from.whole.begin() + rows;
    first.whole.assign(from.whole.begin(), middle);
    rest.whole.assign(middle, from.whole.end());
  }
  rest.counts = from.counts;
  from = std::move(rest);
  return first;
}

}  // namespace

void EncodedAnswer::cut(int64_t most) {
  const auto n = static_cast<size_t>(most);
  if (ids.size() <= n) return;
  ids.resize(n), labels.resize(n);
}

Result<PreferenceData> read_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                                        const Pretrained& model, ThreadPool& pool) {
  const LabelSources sources = HONE_TRY(preference_sources(s));
  PreferenceData out;
  out.notes = sources.notes;
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const ChatTemplates templates = HONE_TRY(chat_templates(s.chat_template_path, tokenizer));
  if (!s.chat_template_path.empty()) out.chat_template = templates.chat;
  const int64_t most = s.row_tokens(model.config);
  const InstructionEncoder encoder = HONE_TRY(InstructionEncoder::make(
      tokenizer, templates.chat, templates.tools,
      {.max_length = int64_t{1} << 40, .completion_only_loss = {}, .assistant_only_loss = false}));
  const auto read = [&](const char* split, const std::vector<std::string>& patterns) {
    return read_split(s, form, model, encoder, most, pool, split, patterns, out.notes);
  };
  std::optional<PreferenceSplit> train, eval;
  if (!sources.train.empty()) train = HONE_TRY(read("train", sources.train));
  if (!sources.validation.empty()) eval = HONE_TRY(read("validation", sources.validation));
  if (s.do_eval && !eval)
    eval = take_first(
        *train, HONE_TRY(keep_for_validation(train->data.size(), s.validation_split_percentage,
                                             s.do_train, out.notes)));
  const auto keep = [&](PreferenceSplit& split, const char* name, int64_t rows,
                        double share) -> Status {
    const int64_t all = split.data.size();
    keep_rows(split, HONE_TRY(selected_rows(all, rows, share)));
    if (split.data.size() < all)
      out.notes.push_back(
          fmt::format("{}: the first {} of these are used", name, split.data.size()));
    return Ok{};
  };
  if (s.do_train) {
    out.train_rows = train->data.size();
    HONE_TRY(keep(*train, "train", s.max_train_samples, s.fraction_of_train_data));
    out.train = std::move(train);
  }
  if (s.do_eval) {
    HONE_TRY(keep(*eval, "validation", s.max_eval_samples, 1));
    out.eval = std::move(eval);
  }
  return out;
}

PreparedSource preference_source(const std::shared_ptr<PreferenceSettings>& s,
                                 const PreferenceForm& form) {
  return {.choose_splits = [s] { want_named_splits(*s, {}); },
          .sources = [s] { return preference_sources(*s); },
          .shard_settings =
              [s, form](const Pretrained& model) {
                return preference_shard_settings(*s, form, model, true);
              },
          .splits = [s, form](const Pretrained& model, const LabelSources&, ThreadPool& pool,
                              std::vector<std::string>& notes) -> Result<std::vector<RowSplit>> {
            PreferenceData data = HONE_TRY(read_preferences(*s, form, model, pool));
            notes = data.notes;
            std::vector<RowSplit> splits;
            if (data.train) splits.push_back(answer_shards_of("train", form, *data.train));
            if (data.eval) splits.push_back(answer_shards_of("validation", form, *data.eval));
            return splits;
          }};
}

static void add_samples(const LabelledRows& rows, const CheckRequest& request, RowsReport& report) {
  for (int64_t i = 0; i < std::min(request.samples, rows.size()); ++i) {
    const auto ids = rows.rows.row(i);
    std::vector<std::string> by_token;
    for (const int32_t tag : rows.labels.tags_of(rows.rows, i))
      by_token.push_back(tag == kIgnoreLabel ? ""
                         : request.model.tokenizer
                             ? request.model.tokenizer->token_of(tag).value_or("")
                             : std::to_string(tag));
    report.samples.push_back({{ids.begin(), ids.end()}, {}, "", {}, std::move(by_token)});
  }
}

RowsReport check_preferences(const PreferenceSettings& s, const PreferenceForm& form,
                             const CheckRequest& request, Findings& findings) {
  RowsReport report;
  const Result<PreferenceData> data = read_preferences(s, form, request.model, request.pool);
  if (!data.ok()) {
    findings.add(data.error());
    return report;
  }
  request.notes = data->notes;
  const bool pairs = form.rows != PreferenceRows::labels;
  const auto look = [&](const std::optional<PreferenceSplit>& split, const std::string& name,
                        SplitReport& to) {
    if (!split) return;
    const TokenRows& rows = split->data.rows;
    to.rows = split->counts.rows_read > 0 ? split->counts.rows_read : rows.size();
    to.sequences = rows.size();
    to.counts.tokens_read = rows.tokens();
    to.counts.rows_cut = split->counts.rows_cut;
    RowFaults faults;
    int64_t alike = 0;
    for (int64_t i = 0; i < rows.size(); ++i) {
      const auto row = rows.row(i);
      faults.look_at_ids(row, nullptr, request.model.config.vocab, false, {0, i + 1});
      if (!pairs) continue;
      const auto first = static_cast<size_t>(split->data.labels.classes[static_cast<size_t>(i)]);
      alike += std::ranges::equal(row.first(first), row.subspan(first));
    }
    faults.tell(
        {name, rows.size(), fmt::format("the {} that are kept", s.row_tokens(request.model.config)),
         "the rest is cut off: raise --max_length",
         [&](RowPlace place) { return fmt::format("{} row {}", name, place.line); }},
        findings);
    tell_cut_rows(name, to.counts.rows_cut, to.rows, s.row_tokens(request.model.config),
                  "max_length", findings);
    if (split->counts.rows_long > 0)
      findings.add(FindingLevel::kWarning, "rows_without_room",
                   fmt::format("{}: {} of {} rows are left out: they are longer than --max_length",
                               name, split->counts.rows_long, to.rows),
                   "", "raise --max_length");
    if (alike > 0)
      findings.add(FindingLevel::kWarning, "answers_alike",
                   fmt::format("{}: {} of {} rows have the same chosen and rejected answer", name,
                               alike, rows.size()),
                   "", "nothing can be learnt from them: take them out");
  };
  look(data->train, "train", report.train);
  look(data->eval, "validation", report.eval);
  if (data->train) add_samples(data->train->data, request, report);
  return report;
}

Status collate_answers(const TokenRows& data, const RowLabels& labels, const BatchRows& rows,
                       bool pairs, int64_t padding, Batch& to, AnswerLabels learns) {
  const auto ids = to.get<int32_t>("ids"), positions = to.get<int32_t>("positions"),
             cu_seqlens = to.get<int32_t>("cu_seqlens"), answers = to.get_if<int32_t>("answers"),
             last = to.get_if<int32_t>("last_rows");
  const auto wanted =
      learns == AnswerLabels::none ? std::span<int32_t>() : to.get<int32_t>("labels");
  const auto samples = to.get_if<int64_t>("sample_ids");
  const auto tokens = to.get_if<float>("answer_tokens"), weight = to.get_if<float>("weight");
  std::fill(ids.begin(), ids.end(), 0);
  std::fill(positions.begin(), positions.end(), 0);
  std::fill(samples.begin(), samples.end(), -1);
  std::fill(wanted.begin(), wanted.end(), kIgnoreLabel);
  std::fill(answers.begin(), answers.end(), -1);
  std::fill(last.begin(), last.end(), -1);
  std::fill(tokens.begin(), tokens.end(), 1.0f);
  std::fill(weight.begin(), weight.end(), 0.0f);
  size_t at = 0, sequence = 0;
  for (size_t r = 0; r < rows.rows.size(); ++r) {
    const int64_t row = rows.rows[r];
    const auto all = data.row(row);
    const auto tags = labels.tags_of(data, row);
    const size_t first =
        pairs ? static_cast<size_t>(labels.classes[static_cast<size_t>(row)]) : all.size();
    HONE_BUG_IF(at + all.size() > ids.size() || sequence + 2 > cu_seqlens.size(),
                "row {} of {} tokens at {} of {}", row, all.size(), at, ids.size());
    for (const auto& [begin, end] : {std::pair(size_t{0}, first), {first, all.size()}}) {
      if (!pairs && begin > 0) continue;
      cu_seqlens[sequence] = static_cast<int32_t>(at);
      int64_t count = 0;
      for (size_t i = begin; i < end; ++i, ++at) {
        ids[at] = all[i];
        positions[at] = static_cast<int32_t>(i - begin);
        if (!samples.empty()) samples[at] = 2 * rows.number(row) + static_cast<int64_t>(begin > 0);
        if (!last.empty() && all[i] != padding) last[sequence] = static_cast<int32_t>(at);
        count += tags[i] != kIgnoreLabel;
        if (i + 1 == end || tags[i + 1] == kIgnoreLabel) continue;
        if (!wanted.empty()) wanted[at] = tags[i + 1];
        if (!answers.empty()) answers[at] = static_cast<int32_t>(sequence);
      }
      if (!last.empty() && last[sequence] < 0 && end > begin)
        last[sequence] = static_cast<int32_t>(at) - 1;
      if (!tokens.empty()) tokens[sequence] = static_cast<float>(std::max<int64_t>(count, 1));
      ++sequence;
    }
    if (!weight.empty()) weight[r] = 1.0f;
  }
  HONE_BUG_IF(at < ids.size() && sequence + 1 == cu_seqlens.size(),
              "no sequence is left for the slack after {} of {}", at, ids.size());
  std::fill(cu_seqlens.begin() + static_cast<std::ptrdiff_t>(sequence), cu_seqlens.end(),
            static_cast<int32_t>(ids.size()));
  cu_seqlens[sequence] = static_cast<int32_t>(at);
  return data.check_unchanged(rows.rows);
}

#define HONE_BIND PreferenceSettings::bind
#define HONE_SETTINGS "learn/tasks/preference_settings.def"
#include "base/settings/bind.inc"

SampleProject preference_sample() {
  return {.model = tiny_decoder(kChatModelOfHub),
          .row = [](int i) -> OrderedJson {
            const SampleSentence one = sample_sentence(i), other = sample_sentence(i + 1);
            return {{"prompt", one.prompt()},
                    {"chosen", one.answer()},
                    {"rejected", fmt::format(" The weather is {}.", other.weather)}};
          },
          .flags = {{"max_length", 128}}};
}

}  // namespace hone

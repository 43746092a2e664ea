#include "learn/tasks/sft_data.h"

#include <map>

#include "base/store/hash.h"
#include "learn/data/rows/batch.h"
#include "learn/data/rows/count_text.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"
#include "learn/tasks/errors.h"

namespace hone {
namespace {

Result<OrderedJson> sft_shard_settings(const SftSettings& s, const Pretrained& model, bool all) {
  const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model));
  const ChatTemplates templates = HONE_TRY(chat_templates(s.chat_template_path, tokenizer));
  OrderedJson j;
  j["task"] = "sft";
  j["tokenizer"] = tokenizer_hash(tokenizer);
  j["chat_template"] = sha256_of_text(templates.chat + templates.tools);
  add_row_settings(schema_of(s),
                   {{"max_length", s.row_tokens(model.config)}, {"chat_template_path", ""}}, all,
                   j);
  return j;
}

Result<LabelSources> sft_sources(const SftSettings& s) {
  LabelSourceRequest request = named_sources(s, {});
  request.glue = false;
  return find_label_sources(request);
}

OrderedJson about(const SftSplit& split) {
  const SftCounts& c = split.counts;
  OrderedJson j{{"rows_read", c.rows_read},
                {"rows_cut", c.rows_cut},
                {"rows_empty", c.rows_empty},
                {"rows_long", c.rows_long}};
  if (!split.columns.empty()) j["columns"] = split.columns;
  return j;
}

std::vector<std::string> columns_about(const OrderedJson& about) {
  std::vector<std::string> columns;
  for (const OrderedJson& name : about.value("columns", OrderedJson::array()))
    if (name.is_string()) columns.push_back(name);
  return columns;
}

std::string describe(const SftSplit& split, int64_t limit) {
  int64_t learnt = 0;
  for (int64_t i = 0; i < split.data.size(); ++i)
    learnt += learnt_tokens(split.data.labels.tags_of(split.data.rows, i));
  const int64_t tokens = split.data.rows.tokens();
  std::string text = fmt::format(
      "{} -> {}, {} ({:.1f} %) of them learnt", count_of(split.counts.rows_read, "row"),
      count_of(tokens, "token"), grouped(learnt),
      100.0 * static_cast<double>(learnt) / static_cast<double>(std::max<int64_t>(1, tokens)));
  if (split.counts.rows_cut > 0)
    text += fmt::format("; {} cut at {}", count_of(split.counts.rows_cut, "row"), grouped(limit));
  if (split.counts.rows_long > 0)
    text += fmt::format("; {} left out, longer than {}", count_of(split.counts.rows_long, "row"),
                        grouped(limit));
  if (split.counts.rows_empty > 0)
    text += fmt::format("; {} left out, in which nothing is learnt",
                        count_of(split.counts.rows_empty, "row"));
  return text;
}

// Rows on their way to tokens.
class InstructionBatch {
 public:
  InstructionBatch(const InstructionEncoder& encoder, const SftSettings& s, ThreadPool& pool,
                   SftSplit& out)
      : encoder_(encoder), s_(s), pool_(pool), out_(out) {}

  Status add(InstructionRow row, const Row& from) {
    places_.push_back(out_.data.rows.place_in(from.file, from.line, from.line_is_row));
    where_.push_back(from.where());
    rows_.push_back(std::move(row));
    ++out_.counts.rows_read;
    return rows_.size() < kBatchRows ? Status(Ok{}) : flush();
  }

  Status flush() {
    std::vector<std::optional<Result<EncodedInstruction>>> encoded(rows_.size());
    pool_.parallel_for(static_cast<int64_t>(rows_.size()), [&](int64_t begin, int64_t end, int) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        encoded[i].emplace(encoder_.encode(rows_[i]));
    });
    for (size_t i = 0; i < encoded.size(); ++i) {
      if (!encoded[i]->ok()) return encoded[i]->error().at(where_[i]);
      const EncodedInstruction& row = **encoded[i];
      if (row.cut && s_.excess_length_strategy == "raise")
        return Error(err::kLongRow, "the row has more tokens than --max_length")
            .at(where_[i])
            .todo("raise --max_length, or use --excess_length_strategy truncate or drop");
      if (row.cut && s_.excess_length_strategy == "drop") {
        ++out_.counts.rows_long;
        continue;
      }
      out_.counts.rows_cut += row.cut;
      if (learnt_tokens(row.labels) == 0) {
        ++out_.counts.rows_empty;
        continue;
      }
      out_.data.rows.add(row.ids, places_[i]);
      std::vector<int32_t>& tags = out_.data.labels.tags;
      tags.insert(tags.end(), row.labels.begin(), row.labels.end());
    }
    rows_.clear(), places_.clear(), where_.clear();
    return Ok{};
  }

 private:
  const InstructionEncoder& encoder_;
  const SftSettings& s_;
  ThreadPool& pool_;
  SftSplit& out_;
  std::vector<InstructionRow> rows_;
  std::vector<RowOrigin> places_;
  std::vector<std::string> where_;
};

// Reads the splits of a run one after the other.
class SftReader {
 public:
  SftReader(const SftSettings& s, const Pretrained& model, ThreadPool& pool)
      : s_(s), model_(model), pool_(pool) {}

  Result<SftSplit> read(const std::string& split, const std::vector<std::string>& patterns,
                        std::vector<std::string>& notes) {
    SftSplit out;
    if (is_shard_folder(patterns[0])) {
      const OrderedJson wanted = HONE_TRY(sft_shard_settings(s_, model_, false));
      const ShardManifest made = HONE_TRY(checked_shards(patterns, wanted));
      InstructionShards shards = HONE_TRY(open_instruction_shards(patterns[0], made, split));
      out.data = std::move(shards.data);
      out.counts = {.rows_read = whole_at(shards.about, "rows_read"),
                    .rows_cut = whole_at(shards.about, "rows_cut"),
                    .rows_empty = whole_at(shards.about, "rows_empty")};
      if (shards.about.contains("rows_long"))
        out.counts.rows_long = whole_at(shards.about, "rows_long");
      out.columns = columns_about(shards.about);
    } else {
      if (!encoder_) encoder_ = HONE_TRY(make_encoder());
      RowOptions options;
      options.format = s_.data_format;
      options.encoding = HONE_TRY(encoding_of(s_.encoding));
      options.header_example = "prompt,completion";
      const std::vector<std::string> files = HONE_TRY(expand_files(patterns, split));
      InstructionReader rows =
          HONE_TRY(InstructionReader::open(files, options, s_.dataset_text_field));
      notes.push_back(fmt::format("{}: {}", split, rows.note()));
      InstructionBatch batch(*encoder_, s_, pool_, out);
      std::map<std::string, int64_t, std::less<>> of_file;  // rows
      for (InstructionRow row; HONE_TRY(rows.next(row));) {
        if (s_.max_samples_per_file >= 0 &&
            ++of_file[std::string(rows.row().file)] > s_.max_samples_per_file)
          continue;
        if (out.columns.empty() && encoder_->is_plain(row)) out.columns = rows.text_columns();
        HONE_TRY(batch.add(std::move(row), rows.row()));
      }
      HONE_TRY(batch.flush());
      out.data.rows.shrink();
    }
    notes.push_back(fmt::format("{}: {}", split, describe(out, s_.row_tokens(model_.config))));
    if (out.data.size() == 0)
      return Error(err::kNoRows, fmt::format("no row of the {} data has anything to learn", split))
          .at(patterns[0])
          .todo("raise --max_length, or check that the rows have answers");
    return out;
  }

 private:
  Result<InstructionEncoder> make_encoder() const {
    const Tokenizer& tokenizer = *HONE_TRY(tokenizer_of(model_));
    const ChatTemplates templates = HONE_TRY(chat_templates(s_.chat_template_path, tokenizer));
    return InstructionEncoder::make(tokenizer, templates.chat, templates.tools,
                                    {s_.row_tokens(model_.config), s_.completion_only_loss,
                                     s_.assistant_only_loss, s_.alpaca_prompt});
  }

  const SftSettings& s_;
  const Pretrained& model_;
  ThreadPool& pool_;
  std::optional<InstructionEncoder> encoder_;  // of all splits
};

}  // namespace

int64_t learnt_tokens(std::span<const int32_t> tags) {
  if (tags.empty()) return 0;
  return std::count_if(tags.begin() + 1, tags.end(),
                       [](int32_t tag) { return tag != kIgnoreLabel; });
}

Result<SftData> read_sft(const SftSettings& s, const Pretrained& model, ThreadPool& pool) {
  const LabelSources sources = HONE_TRY(sft_sources(s));
  SftData out;
  out.notes = sources.notes;
  if (!s.chat_template_path.empty())
    out.chat_template =
        HONE_TRY(chat_templates(s.chat_template_path, *HONE_TRY(tokenizer_of(model)))).chat;
  SftReader reader(s, model, pool);
  std::optional<SftSplit> train, eval;
  if (!sources.train.empty()) train = HONE_TRY(reader.read("train", sources.train, out.notes));
  if (!sources.validation.empty())
    eval = HONE_TRY(reader.read("validation", sources.validation, out.notes));
  if (s.do_eval && !eval) {
    const int64_t rows = train->data.size();
    const int64_t kept =
        HONE_TRY(keep_for_validation(rows, s.validation_split_percentage, s.do_train, out.notes));
    LabelledRows rest;
    eval.emplace().data.append(train->data, 0, kept);
    rest.append(train->data, kept, rows);
    train->data = std::move(rest);
  }
  const auto keep = [&](SftSplit& split, const std::string& name, int64_t most,
                        double share) -> Status {
    const int64_t all = split.data.size();
    split.data.keep_first(HONE_TRY(selected_rows(all, most, share)));
    if (split.data.size() < all)
      out.notes.push_back(
          fmt::format("{}: the first {} of these are used", name, split.data.size()));
    return Ok{};
  };
  if (s.do_train) {
    out.train_rows = train->data.size();
    out.columns = train->columns;
    HONE_TRY(keep(*train, "train", s.max_train_samples, s.fraction_of_train_data));
    out.train = std::move(train);
  }
  if (s.do_eval) {
    HONE_TRY(keep(*eval, "validation", s.max_eval_samples, 1));
    out.eval = std::move(eval);
  }
  return out;
}

PreparedSource sft_source(const std::shared_ptr<SftSettings>& s) {
  return {
      .choose_splits = [s] { want_named_splits(*s, {}); },
      .sources = [s] { return sft_sources(*s); },
      .shard_settings =
          [s](const Pretrained& model) { return sft_shard_settings(*s, model, true); },
      .splits = [s](const Pretrained& model, const LabelSources&, ThreadPool& pool,
                    std::vector<std::string>& notes) -> Result<std::vector<RowSplit>> {
        SftData data = HONE_TRY(read_sft(*s, model, pool));
        notes = data.notes;
        std::vector<RowSplit> splits;
        for (auto& [name, split] : {std::pair("train", &data.train), {"validation", &data.eval}})
          if (*split)
            splits.push_back(instruction_split(name, std::move((*split)->data), about(**split)));
        return splits;
      }};
}

#define HONE_BIND SftSettings::bind
#define HONE_SETTINGS "learn/tasks/sft_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone

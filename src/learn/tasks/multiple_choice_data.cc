#include "learn/tasks/multiple_choice_data.h"

#include <cmath>
#include <numeric>

#include "base/core/text.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/columns.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/selection.h"
#include "learn/harness/encode.h"

namespace hone {
namespace {

constexpr const char *kChoiceLengths = "lengths", *kChoiceTypes = "types", *kChoiceLabel = "label";

using ChoiceSettings = MultipleChoiceSettings;

Result<LabelSources> choice_sources(const ChoiceSettings& s) {
  LabelSourceRequest request = named_sources(s, s.test_file);
  request.glue = false;
  return find_label_sources(request);
}

Result<RowOptions> choice_options(const ChoiceSettings& s) {
  RowOptions options;
  options.format = s.data_format;
  options.column_names = s.column_names;
  options.encoding = HONE_TRY(encoding_of(s.encoding));
  std::vector<std::string> columns = {s.context_column_name, s.question_column_name};
  const std::vector<std::string> endings = {"ending0", "ending1"};
  for (const std::string& ending : s.ending_column_names.empty() ? endings : s.ending_column_names)
    columns.push_back(ending);
  columns.push_back(s.label_column_name);
  std::erase(columns, "");
  options.header_example = join(columns, ",");
  return options;
}

// The columns of the endings: the given ones, else ending0, ending1 and so on.
Result<std::vector<std::string>> ending_columns(const ChoiceSettings& s,
                                                const std::vector<std::string>& files) {
  std::vector<std::string> endings = s.ending_column_names;
  const auto rows = HONE_TRY(open_rows(files, HONE_TRY(choice_options(s))));
  Row row;
  if (!HONE_TRY(rows->next(row)))
    return Error(err::kNoRows, "the data has no rows").at(files[0]).todo("give more data");
  const std::vector<std::string>& columns = rows->columns();
  if (endings.empty())
    while (place_of(columns, fmt::format("ending{}", endings.size())))
      endings.push_back(fmt::format("ending{}", endings.size()));
  if (endings.size() < 2)
    return no_column(columns, fmt::format("ending{}", endings.size()),
                     "; a row has two choices or more, named by --ending_column_names", files[0]);
  for (const std::string& name : endings)
    if (!place_of(columns, name)) return no_column(columns, name, ", an ending", files[0]);
  return endings;
}

Result<OrderedJson> choice_shard_settings(const ChoiceSettings& s, const Pretrained& model,
                                          bool all) {
  OrderedJson j;
  j["task"] = "multiple_choice";
  j["tokenizer"] = tokenizer_hash(*HONE_TRY(tokenizer_of(model)));
  add_row_settings(schema_of(s), {{"max_seq_length", s.choice_tokens(model.config)}}, all, j);
  return j;
}

Status check_choice(float label, int64_t choices, const std::string& place) {
  if (label == std::floor(label) && label >= 0 && label < static_cast<float>(choices)) return Ok{};
  return Error(err::kLabel,
               fmt::format("{:g} is not one of the choices 0 to {}", label, choices - 1))
      .at(place)
      .todo("number the choices from 0, and name the column by --label_column_name");
}

// The table's first columns are the context and, if there is one, the question.
Result<TextRows> encode_choices(const ChoiceSettings& s, const Pretrained& model, ThreadPool& pool,
                                const TableOfTexts& table, bool labelled) {
  const size_t before = s.question_column_name.empty() ? 1 : 2;
  HONE_TRY(expect_single_texts(table, "write one text in each column"));
  if (labelled && table.labels_of_row != 1)
    return Error(err::kLabel, fmt::format("the row has {} labels", table.labels_of_row))
        .at(table.places[0])
        .todo("give the number of the right choice");
  const size_t rows = table.places.size(), choices = table.columns.size() - before;
  std::vector<std::vector<std::string>> endings(choices);
  TextsToEncode columns;
  for (size_t k = 0; k < choices; ++k) {
    for (size_t i = 0; i < rows; ++i) {
      const std::string& ending = table.texts[before + k][i];
      endings[k].push_back(before == 1 ? ending : table.texts[1][i] + " " + ending);
    }
    columns.first.emplace_back(table.texts[0].begin(), table.texts[0].end());
    columns.second.emplace_back(endings[k].begin(), endings[k].end());
  }
  TextRows out = HONE_TRY(encode_text_rows(*HONE_TRY(tokenizer_of(model)), pool,
                                           s.choice_tokens(model.config), columns, table.places));
  if (!labelled) return out;
  out.labels_of_row = 1;
  out.labels = table.labels;
  for (size_t i = 0; i < rows; ++i)
    HONE_TRY(check_choice(out.labels[i], static_cast<int64_t>(choices), table.places[i]));
  return out;
}

RowSplit choice_shards_of(const std::string& name, const TextRows& split) {
  TokenRows ids, lengths, types, labels;
  auto type = split.types.begin();
  for (int64_t i = 0; i < split.rows.size(); ++i) {
    const auto row = split.rows.row(i);
    ids.add(row);
    lengths.add(split.lengths_of(i));
    const auto end = split.types.empty() ? type : type + std::ssize(row);
    types.add(std::vector<int32_t>(type, end));
    type = end;
    std::vector<int32_t> label;
    if (split.labels_of_row > 0) label.push_back(static_cast<int32_t>(split.labels_of(i)[0]));
    labels.add(label);
  }
  RowSplit out{name, std::move(ids), {}, {{"choices", split.texts}}};
  out.beside.push_back({kChoiceLengths, std::move(lengths)});
  out.beside.push_back({kChoiceTypes, std::move(types)});
  out.beside.push_back({kChoiceLabel, std::move(labels)});
  return out;
}

Result<int64_t> choices_of_shards(const std::string& folder, const ShardSplit& split) {
  const OrderedJson& about = split.about;
  if (about.is_object() && about.contains("choices") && about["choices"].is_number_integer() &&
      about["choices"].get<int64_t>() >= 2 && about["choices"].get<int64_t>() <= 10000)
    return about["choices"].get<int64_t>();
  return other_rows(folder, split.name, "names no number of choices");
}

Result<TextRows> open_choice_shards(const std::string& folder, const ShardManifest& made,
                                    const std::string& split, bool labelled, int64_t most) {
  const ListShards from =
      HONE_TRY(open_list_shards(folder, made, split, {kChoiceLengths, kChoiceTypes, kChoiceLabel}));
  TextRows out;
  out.texts = HONE_TRY(choices_of_shards(folder, HONE_TRY(find_split(made, split, folder))));
  out.labels_of_row = labelled ? 1 : 0;
  const int64_t rows = most < 0 ? from.ids.size() : std::min(most, from.ids.size());
  for (int64_t i = 0; i < rows; ++i) {
    const auto ids = from.ids.row(i), lengths = from.lists[0].row(i), types = from.lists[1].row(i),
               label = from.lists[2].row(i);
    const bool fits =
        std::ssize(lengths) == out.texts &&
        std::all_of(lengths.begin(), lengths.end(), [](int32_t n) { return n > 0; }) &&
        std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) == std::ssize(ids) &&
        (types.empty() || types.size() == ids.size()) &&
        (!labelled || (label.size() == 1 && label[0] >= 0 && label[0] < out.texts));
    if (!fits) return other_rows(folder, split, fmt::format("has other columns in row {}", i));
    out.rows.add(ids);
    out.lengths.insert(out.lengths.end(), lengths.begin(), lengths.end());
    for (const int32_t one : types) out.types.push_back(static_cast<uint8_t>(one));
    if (labelled) out.labels.push_back(static_cast<float>(label[0]));
  }
  if (!out.types.empty() && std::ssize(out.types) != out.rows.tokens())
    return other_rows(folder, split, "has token types in some rows alone");
  return out;
}

struct WantedChoices {
  const char* name;  // of the split
  const std::vector<std::string>& files;
  int64_t most = -1;
  bool labelled = true;
};

Result<TextRows> read_choice_split(const ChoiceSettings& s, const Pretrained& model,
                                   ThreadPool& pool, const WantedChoices& wanted) {
  if (is_shard_folder(wanted.files[0])) {
    const ShardManifest made =
        HONE_TRY(checked_shards(wanted.files, HONE_TRY(choice_shard_settings(s, model, false))));
    return open_choice_shards(wanted.files[0], made, wanted.name, wanted.labelled, wanted.most);
  }
  const std::vector<std::string> files = HONE_TRY(expand_files(wanted.files, wanted.name));
  TableOfTextsOptions columns{.text_columns = {s.context_column_name},
                              .label_column = s.label_column_name,
                              .wants_label = wanted.labelled};
  if (!s.question_column_name.empty()) columns.text_columns.push_back(s.question_column_name);
  for (std::string& ending : HONE_TRY(ending_columns(s, files)))
    columns.text_columns.push_back(std::move(ending));
  const TableOfTexts table =
      HONE_TRY(read_text_table(files, HONE_TRY(choice_options(s)), columns, wanted.most));
  return encode_choices(s, model, pool, table, wanted.labelled);
}

// The rows [begin, end).
TextRows some_choices(const TextRows& from, int64_t begin, int64_t end) {
  TextRows out;
  out.texts = from.texts, out.labels_of_row = from.labels_of_row;
  int64_t token = 0;
  for (int64_t i = 0; i < end; ++i) {
    const int64_t tokens = from.rows.length(i);
    if (i >= begin) {
      out.rows.add_from(from.rows, i);
      const auto lengths = from.lengths_of(i);
      out.lengths.insert(out.lengths.end(), lengths.begin(), lengths.end());
      if (!from.types.empty())
        out.types.insert(out.types.end(), from.types.begin() + token,
                         from.types.begin() + token + tokens);
      if (from.labels_of_row > 0) out.labels.push_back(from.labels_of(i)[0]);
      if (!from.cut.empty()) out.cut.push_back(from.cut[static_cast<size_t>(i)]);
    }
    token += tokens;
  }
  return out;
}

}  // namespace

Result<int64_t> count_choices(const MultipleChoiceSettings& s) {
  const LabelSources sources = HONE_TRY(choice_sources(s));
  for (const auto* files : {&sources.train, &sources.validation, &sources.test}) {
    if (files->empty()) continue;
    if (is_shard_folder((*files)[0])) {
      const ShardManifest made = HONE_TRY(read_shard_manifest((*files)[0]));
      if (made.splits.empty()) return other_rows((*files)[0], "shards", "have no splits");
      return choices_of_shards((*files)[0], made.splits[0]);
    }
    return std::ssize(HONE_TRY(ending_columns(s, HONE_TRY(expand_files(*files, "data")))));
  }
  return 2;  // nothing is read
}

Result<MultipleChoiceData> read_multiple_choice(const MultipleChoiceSettings& s,
                                                const Pretrained& model, ThreadPool& pool) {
  const LabelSources sources = HONE_TRY(choice_sources(s));
  MultipleChoiceData out;
  out.notes = sources.notes;
  const auto read = [&](const WantedChoices& wanted) {
    return read_choice_split(s, model, pool, wanted);
  };
  const bool splits = s.do_eval && sources.validation.empty();
  if (s.do_train || splits) {
    out.train = HONE_TRY(read({.name = "train", .files = sources.train}));
    out.train_rows = out.train->rows.size();
  }
  if (splits) {
    const int64_t kept = HONE_TRY(
        keep_for_validation(out.train_rows, s.validation_split_percentage, s.do_train, out.notes));
    out.eval = some_choices(*out.train, 0, kept);
    out.train = some_choices(*out.train, kept, out.train_rows);
    out.train_rows -= kept;
    if (!s.do_train) out.train.reset();
  } else if (s.do_eval) {
    out.eval = HONE_TRY(read({.name = "validation", .files = sources.validation}));
  }
  const auto keep = [](std::optional<TextRows>& split, int64_t rows) {
    if (rows < split->rows.size()) split = some_choices(*split, 0, rows);
  };
  if (out.train)
    keep(out.train,
         HONE_TRY(selected_rows(out.train_rows, s.max_train_samples, s.fraction_of_train_data)));
  if (out.eval)
    keep(out.eval, HONE_TRY(selected_rows(out.eval->rows.size(), s.max_eval_samples, 1)));
  if (s.do_predict)
    out.test = HONE_TRY(read(
        {.name = "test", .files = sources.test, .most = s.max_predict_samples, .labelled = false}));
  for (const auto& [name, split] :
       {std::pair("train", &out.train), {"validation", &out.eval}, {"test", &out.test}})
    if (*split)
      out.notes.push_back(
          fmt::format("{}: {}", name, describe(**split, s.choice_tokens(model.config))));
  return out;
}

PreparedSource multiple_choice_source(const std::shared_ptr<MultipleChoiceSettings>& s) {
  return {
      .choose_splits = [s] { want_named_splits(*s, s->test_file); },
      .sources = [s] { return choice_sources(*s); },
      .shard_settings =
          [s](const Pretrained& model) { return choice_shard_settings(*s, model, true); },
      .splits = [s](const Pretrained& model, const LabelSources&, ThreadPool& pool,
                    std::vector<std::string>& notes) -> Result<std::vector<RowSplit>> {
        const MultipleChoiceData data = HONE_TRY(read_multiple_choice(*s, model, pool));
        notes = data.notes;
        std::vector<RowSplit> splits;
        for (const auto& [name, split] :
             {std::pair("train", &data.train), {"validation", &data.eval}, {"test", &data.test}})
          if (*split) splits.push_back(choice_shards_of(name, **split));
        return splits;
      }};
}

#define HONE_BIND MultipleChoiceSettings::bind
#define HONE_SETTINGS "learn/tasks/multiple_choice_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone

// Serves the data files of a folder: their rows, cells and labels, and the tokens of a model.
#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/formats/errors.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/label_columns.h"
#include "learn/tokenizers/load/load.h"
#include "operate/registry/errors.h"
#include "operate/web/api.h"

namespace hone {
namespace {

constexpr int64_t kMostRows = 100, kMostRowsPassed = 1000000;
constexpr int64_t kMostRowBytes = 4 << 20, kMostWholeBytes = 256 << 20, kMostAnswerBytes = 8 << 20;
constexpr size_t kMostTextBytes = 20000, kMostTokens = 2000, kMostListed = 500, kMostKept = 4;
constexpr int kMostFolderLevels = 3;
constexpr int64_t kNoLabel = -100;  // of a token that no loss is computed for, as in PyTorch

OrderedJson cell_json(const Cell& cell) {
  return std::visit(
      [](const auto& value) -> OrderedJson {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nullptr;
        } else if constexpr (std::is_same_v<T, RawJson>) {
          Result<OrderedJson> parsed = parse_ordered_json(value.text, "cell");
          return parsed.ok() ? std::move(*parsed) : OrderedJson(value.text);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return value.size() > kMostTextBytes ? value.substr(0, kMostTextBytes) + "…" : value;
        } else {
          return value;
        }
      },
      cell);
}

std::string cell_words(const OrderedJson& cell) {
  return cell.is_null() ? "" : cell.is_string() ? cell.get<std::string>() : dump_json(cell);
}

OrderedJson token_json(const Tokenizer& t, int32_t id) {
  OrderedJson j = {
      {"id", id}, {"token", t.token_of(id).value_or("")}, {"text", t.decode(std::span(&id, 1))}};
  if (t.is_special(id)) j["special"] = true;
  return j;
}

OrderedJson tokens_json(const Tokenizer& t, const std::string& text) {
  OrderedJson tokens = OrderedJson::array();
  std::vector<int32_t> ids = t.encode(text);
  if (ids.size() > kMostTokens) ids.resize(kMostTokens);
  for (const int32_t id : ids) tokens.push_back(token_json(t, id));
  return tokens;
}

// The columns of a row that a task reads.
struct Roles {
  std::vector<std::pair<std::string, size_t>> texts;  // "text", "pair", "target"
  std::optional<size_t> label, words, tags;
  std::string note = {};
};

std::optional<size_t> column_named(const std::vector<std::string>& columns,
                                   std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (const auto at = std::find(columns.begin(), columns.end(), name); at != columns.end())
      return static_cast<size_t>(at - columns.begin());
  return {};
}

Result<Roles> roles_of(const std::string& task, RowReader& rows, const Row& first) {
  const std::vector<std::string>& columns = rows.columns();
  if (columns.empty()) HONE_TRY(text_column(rows));
  Roles roles;
  if (task == "classification") {
    const LabelColumns found = HONE_TRY(find_label_columns(columns, first, {}));
    roles.texts.emplace_back("text", found.first);
    if (found.second) roles.texts.emplace_back("pair", *found.second);
    roles.label = found.label;
  } else if (task == "ner") {
    roles.words = column_named(columns, {"tokens", "words"});
    roles.tags = column_named(columns, {"ner_tags", "pos_tags", "chunk_tags", "tags", "labels"});
    if (!roles.words) roles.words = 0;
    roles.note = fmt::format("a word has the label of its first token; {}: none", kNoLabel);
  } else if (task == "summarization" || task == "translation") {
    std::optional<size_t> source = column_named(columns, {"document", "article", "source", "text",
                                                          "dialogue", "translation"}),
                          target =
                              column_named(columns, {"summary", "highlights", "target", "title"});
    if (!source) source = 0;
    roles.texts.emplace_back("text", *source);
    if (!target && columns.size() > 1) target = *source == 0 ? 1 : 0;
    if (target) roles.texts.emplace_back("target", *target);
    roles.note = "the tokens of the target are the labels";
  } else {
    roles.texts.emplace_back("text", HONE_TRY(text_column(rows)));
    roles.note = task == "mlm" ? "the label of a masked token is the token itself"
                               : "the label of each token is the next one";
  }
  return roles;
}

OrderedJson tagged_tokens(const Tokenizer& t, const Cell& words, const Cell* tags,
                          const std::vector<std::string>& names) {
  const auto* list = std::get_if<std::vector<std::string>>(&words);
  OrderedJson tokens = OrderedJson::array();
  if (list == nullptr) return tokens;
  const OrderedJson labels = tags == nullptr ? OrderedJson() : cell_json(*tags);
  std::vector<int32_t> ids;
  std::vector<std::string> of;
  for (size_t w = 0; w < list->size() && ids.size() < kMostTokens; ++w) {
    const std::vector<int32_t> word = t.encode((*list)[w], {.add_special_tokens = false});
    for (size_t i = 0; i < word.size(); ++i) {
      std::string label = std::to_string(kNoLabel);
      if (i == 0 && labels.is_array() && w < labels.size()) {
        label = cell_words(labels[w]);
        if (labels[w].is_number_integer())
          if (const auto n = labels[w].get<size_t>(); n < names.size()) label = names[n];
      }
      ids.push_back(word[i]);
      of.push_back(label);
    }
  }
  const Encoding whole = t.with_special_tokens(ids);
  const size_t before =
      static_cast<size_t>(t.special_token_count(false) - t.special_tokens_after());
  for (size_t i = 0; i < whole.ids.size(); ++i) {
    OrderedJson token = token_json(t, whole.ids[i]);
    token["label"] =
        i >= before && i - before < of.size() ? of[i - before] : std::to_string(kNoLabel);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

OrderedJson row_json_of(const Row& row, const std::vector<std::string>& columns, const Roles& roles,
                        const Tokenizer* tokenizer, const LabelNames& labels) {
  OrderedJson cells = OrderedJson::object(), parts = OrderedJson::array();
  for (size_t i = 0; i < columns.size() && i < row.cells.size(); ++i)
    cells[columns[i]] = cell_json(row.cells[i]);
  const auto names_of = [&](size_t column) {
    const auto it = labels.find(columns[column]);
    return it == labels.end() ? std::vector<std::string>() : it->second;
  };
  OrderedJson j = {{"where", row.where()}, {"cells", std::move(cells)}};
  for (const auto& [role, column] : roles.texts) {
    const std::string text = cell_words(cell_json(row.cells[column]));
    OrderedJson part = {{"role", role}, {"column", columns[column]}};
    if (tokenizer != nullptr) part["tokens"] = tokens_json(*tokenizer, text);
    parts.push_back(std::move(part));
  }
  if (roles.words && tokenizer != nullptr) {
    const Cell* tags = roles.tags ? &row.cells[*roles.tags] : nullptr;
    parts.push_back({{"role", "words"},
                     {"column", columns[*roles.words]},
                     {"tokens", tagged_tokens(*tokenizer, row.cells[*roles.words], tags,
                                              roles.tags ? names_of(*roles.tags)
                                                         : LabelNames::mapped_type())}});
  }
  if (roles.label) {
    const OrderedJson value = cell_json(row.cells[*roles.label]);
    j["label"] = {{"column", columns[*roles.label]}, {"value", value}};
    const std::vector<std::string> names = names_of(*roles.label);
    if (value.is_number_integer() && value.get<int64_t>() >= 0 &&
        value.get<size_t>() < names.size())
      j["label"]["name"] = names[value.get<size_t>()];
  }
  j["parts"] = std::move(parts);
  return j;
}

// Data files, and folders that hold a tokenizer.
void list_below(const std::filesystem::path& root, const std::filesystem::path& folder, int levels,
                OrderedJson& files, OrderedJson& models) {
  namespace fs = std::filesystem;
  std::vector<fs::path> names;
  std::error_code failed;
  for (fs::directory_iterator it(folder, failed), end; !failed && it != end; it.increment(failed))
    names.push_back(it->path());
  std::sort(names.begin(), names.end());
  static const std::vector<std::string> kOwn = {"config",     "tokenizer",  "vocab",   "results",
                                                "state",      "hone_",      "adapter", "merges",
                                                "tokens_map", "index.json", "run.json"};
  for (const fs::path& at : names) {
    const std::string name = at.filename().string();
    if (name.starts_with('.') || fs::is_symlink(at, failed)) continue;
    const std::string shown = at.lexically_relative(root).generic_string();
    if (fs::is_directory(at, failed)) {
      for (const char* file : {"tokenizer.json", "vocab.json", "vocab.txt", "spiece.model"})
        if (fs::exists(at / file, failed)) {
          if (models.size() < kMostListed) models.push_back(shown);
          break;
        }
      if (levels > 0) list_below(root, at, levels - 1, files, models);
      continue;
    }
    if (!fs::is_regular_file(at, failed)) continue;  // a pipe would never end
    const bool own = std::any_of(kOwn.begin(), kOwn.end(), [&](const std::string& part) {
      return name.find(part) != std::string::npos;
    });
    if (!own && files.size() < kMostListed && find_format(name, {}).ok()) files.push_back(shown);
  }
}

WebAnswer not_below(const std::string& what, const std::string& path) {
  WebAnswer answer =
      api_answer({{"error", fmt::format("there is no {} '{}' below the folder", what, path)},
                  {"todo", "name a path below the --folder of hone ui"}});
  answer.status = 404;
  return answer;
}

}  // namespace

Result<std::shared_ptr<Tokenizer>> DataApi::tokenizer(const std::string& model) {
  {
    std::lock_guard lock(mutex_);
    if (const auto it = tokenizers_.find(model); it != tokenizers_.end()) return it->second;
  }
  std::string folder;
  if (const auto below = path_below(folder_, model))
    folder = *below;
  else
    folder = HONE_TRY(models_.source_of(model));
  for (const std::string& name : names_in(folder))
    if (const std::string file = folder + "/" + name; !is_folder(file) && !is_regular(file))
      return Error(err::kDataRead, fmt::format("'{}' is not a regular file", file))
          .todo("name a folder of a tokenizer's files");
  auto loaded = std::make_shared<Tokenizer>(HONE_TRY(load_tokenizer(folder)));
  std::lock_guard lock(mutex_);
  if (tokenizers_.size() >= kMostKept) tokenizers_.clear();
  tokenizers_[model] = loaded;
  return loaded;
}

WebAnswer DataApi::answer(const ApiRequest& request, const std::function<bool()>& stops) {
  const std::string file = request.get("file"), model = request.get("model"),
                    task = request.get("task", "clm");
  if (file.empty()) {
    OrderedJson files = OrderedJson::array(), models = OrderedJson::array();
    if (const auto root = path_below(folder_, "."))
      list_below(*root, *root, kMostFolderLevels, files, models);
    return api_answer({{"folder", folder_}, {"files", files}, {"models", models}});
  }
  const std::optional<std::string> path = path_below(folder_, file);
  if (!path || !is_regular(*path)) return not_below("file", file);
  const auto answer = [&]() -> Result<WebAnswer> {
    std::shared_ptr<Tokenizer> t;
    if (!model.empty()) t = HONE_TRY(tokenizer(model));
    if (t && task == "ner") t = std::make_shared<Tokenizer>(HONE_TRY(for_words(*t)));
    const RowOptions options{
        .limits = {.row_bytes = kMostRowBytes, .whole_bytes = kMostWholeBytes, .stops = stops}};
    const auto reader = HONE_TRY(open_rows({*path}, options));
    const int64_t from = request.number("from", 0, kMostRowsPassed),
                  count = request.number("count", 20, kMostRows);
    const RowPosition begin = reader->position();
    Row row;
    Roles roles;
    if (HONE_TRY(reader->next(row))) roles = HONE_TRY(roles_of(task, *reader, row));
    HONE_TRY(reader->seek(begin));
    OrderedJson rows = OrderedJson::array();
    bool more = false;
    int64_t first = 0;  // place in the file
    for (int64_t at = 0; HONE_TRY(reader->next(row)); ++at) {
      const int64_t bytes = reader->position().offset - first;
      if ((more = at >= from + count || (at > from && bytes > kMostAnswerBytes))) break;
      if (at < from) {
        first = reader->position().offset;
        continue;
      }
      rows.push_back(row_json_of(row, reader->columns(), roles, t.get(), reader->label_names()));
      rows.back()["where"] = fmt::format("row {}", at + 1);
    }
    return api_answer({{"file", file},
                       {"task", task},
                       {"model", model},
                       {"columns", reader->columns()},
                       {"note", roles.note},
                       {"from", from},
                       {"more", more},
                       {"rows", rows}});
  };
  Result<WebAnswer> given = answer();
  return given.ok() ? std::move(*given) : api_failure(given.error(), 400);
}

}  // namespace hone

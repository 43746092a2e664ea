#include "learn/data/formats/pandas_frame.h"

#include <unordered_set>
#include <utility>

namespace hone {
namespace {

using Kind = PickleKind;

constexpr int64_t kMaxColumns = 1'000'000;

// The last part of a name in pandas, whose modules move from version to version; else empty.
std::string pandas_name(const PickleValue& global) {
  const std::string name = global.global();
  return name.starts_with("pandas.") ? name.substr(name.find_last_of('.') + 1) : "";
}
bool is_pandas(const PickleValue& v, std::string_view name) {
  return pandas_name(v.callable()) == name;
}

class FrameReader {
 public:
  FrameReader(const std::string& file, PickledTable& table) : file_(file), table_(table) {}

  Status read(const PickleValue& frame) {
    const PickleValue state = frame.state();
    PickleValue manager = state.find("_mgr");
    if (manager.is(Kind::none)) manager = state.find("_data");  // before pandas 1.1
    if (!is_pandas(manager, "BlockManager"))
      return damaged_table(file_, "its DataFrame has no BlockManager");
    // Since pandas 1.3 BlockManager(blocks, axes); before, and still for Series, a state whose last
    // part is {'0.14.1': {'axes': ..., 'blocks': ...}}.
    const PickleValue old = manager.state()[3].find("0.14.1");
    const PickleValue axes = old.is(Kind::none) ? manager.args()[1] : old.find("axes");
    const PickleValue blocks = old.is(Kind::none) ? manager.args()[0] : old.find("blocks");
    if (axes.size() != 2) return damaged_table(file_, "it has not two axes");
    HONE_TRY(read_names(axes[0]));
    for (int64_t i = 0; i < blocks.size(); ++i) {
      const PickleValue b = blocks[i];
      if (b.is(Kind::dict)) {
        HONE_TRY(read_block(b.find("values"), b.find("mgr_locs")));
      } else if (is_pandas(b, "_unpickle_block")) {
        HONE_TRY(read_block(b.args()[0], b.args()[1]));
      } else {
        return refused_table_class(file_, b);
      }
    }
    for (size_t c = 0; c < table_.columns.size(); ++c) {
      if (table_.columns[c] == nullptr)
        return damaged_table(file_, fmt::format("column '{}' has no values", table_.names[c]));
    }
    return Ok{};
  }

 private:
  // An Index, as cells. A RangeIndex gives its numbers.
  Status read_names(const PickleValue& index) {
    if (!is_pandas(index, "_new_Index")) return refused_table_class(file_, index);
    const std::string kind = pandas_name(index.args()[0]);
    const PickleValue about = index.args()[1], data = about.find("data");
    if (kind == "RangeIndex") {
      const int64_t start = about.find("start").integer(), stop = about.find("stop").integer(),
                    step = about.find("step").integer();
      if (step <= 0 || step > kMaxColumns || start < 0 || stop > kMaxColumns)
        return damaged_table(file_, "its columns are numbered in a strange way");
      for (int64_t i = start; i < stop; i += step) table_.names.push_back(fmt::format("{}", i));
    } else if (kind == "Index" || kind == "Int64Index") {
      std::unique_ptr<CellArray> cells;
      if (is_ndarray(data)) {
        const Ndarray a = HONE_TRY(read_ndarray(data, file_));
        if (a.shape.size() != 1) return damaged_table(file_, "its column names are not a list");
        cells = cells_of(a, 0, file_);
      } else if (data.is(Kind::list)) {
        cells = cells_of_list(data, file_);
      } else {
        cells = HONE_TRY(cells_of_extension(data, file_));
      }
      for (int64_t i = 0; i < cells->size(); ++i) {
        const Cell name = HONE_TRY(cells->cell(i));
        if (const auto* text = std::get_if<std::string>(&name))
          table_.names.push_back(*text);
        else if (const auto* number = std::get_if<int64_t>(&name))
          table_.names.push_back(fmt::format("{}", *number));
        else
          return damaged_table(file_, fmt::format("the name of column {} is neither text nor a "
                                                  "whole number",
                                                  i));
      }
    } else {
      return refused_table_class(file_, index);
    }
    table_.columns.resize(table_.names.size());
    return Ok{};
  }

  // Indices of a block's rows among the columns: slice(start, stop, step) or numbers.
  Result<std::vector<int64_t>> read_places(const PickleValue& v) {
    std::vector<int64_t> places;
    const auto columns = static_cast<int64_t>(table_.columns.size());
    if (v.callable().is_global("builtins.slice") || v.callable().is_global("__builtin__.slice")) {
      const auto part = [&](int64_t i, int64_t missing) {
        return v.args()[i].is(Kind::none) ? missing : v.args()[i].integer();
      };
      // The end may be up to a step after the last column; none means down to the first one.
      const int64_t start = part(0, 0), step = part(2, 1), stop = part(1, step < 0 ? -1 : columns);
      if (step == 0 || step < -kMaxColumns || step > kMaxColumns || start < 0 || start > columns)
        return damaged_table(file_, "a block is outside its columns");
      for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) {
        if (i < 0 || i >= columns) return damaged_table(file_, "a block is outside its columns");
        places.push_back(i);
      }
    } else {
      const Ndarray a = HONE_TRY(read_ndarray(v, file_));
      if (a.kind == 'O' || a.shape.size() != 1) return damaged_table(file_, "a block has no place");
      const auto cells = cells_of(a, 0, file_);
      for (int64_t i = 0; i < cells->size(); ++i) {
        const Cell cell = HONE_TRY(cells->cell(i));
        const auto* place = std::get_if<int64_t>(&cell);
        places.push_back(place == nullptr ? -1 : *place);
      }
    }
    return places;
  }

  Status read_block(const PickleValue& values, const PickleValue& where) {
    const std::vector<int64_t> places = HONE_TRY(read_places(where));
    if (!is_ndarray(values)) {
      if (places.size() != 1) return damaged_table(file_, "a block of one column has several");
      return put(places[0], HONE_TRY(cells_of_extension(values, file_)));
    }
    const Ndarray a = HONE_TRY(read_ndarray(values, file_));
    const bool flat = a.shape.size() == 1;
    if (a.shape.empty() || places.size() != (flat ? 1 : static_cast<size_t>(a.shape[0])))
      return damaged_table(file_, "the columns of a block are not those of its list");
    for (size_t i = 0; i < places.size(); ++i)
      HONE_TRY(put(places[i], cells_of(a, static_cast<int64_t>(i), file_)));
    return Ok{};
  }

  Status put(int64_t place, std::unique_ptr<CellArray> cells) {
    if (place < 0 || place >= static_cast<int64_t>(table_.columns.size()) ||
        table_.columns[static_cast<size_t>(place)] != nullptr)
      return damaged_table(file_, fmt::format("two blocks have, or none has, column {}", place));
    if (std::exchange(first_, false)) table_.rows = cells->size();
    if (cells->size() != table_.rows)
      return damaged_table(file_,
                           fmt::format("columns of {} and of {} rows", table_.rows, cells->size()));
    table_.columns[static_cast<size_t>(place)] = std::move(cells);
    return Ok{};
  }

  const std::string& file_;
  PickledTable& table_;
  bool first_ = true;  // no block was read
};

// A column of [{"a": 1}, ...]: the values under one key.
class RecordCells final : public CellArray {
 public:
  RecordCells(const PickleValue& list, std::string key, const std::string& file)
      : list_(list), key_(std::move(key)), file_(file) {}
  int64_t size() const override { return list_.size(); }
  Result<Cell> cell(int64_t i) const override { return cell_of(list_[i].find(key_), file_); }

 private:
  PickleValue list_;
  std::string key_, file_;
};

Status read_records(const PickleValue& list, const std::string& file, PickledTable& table) {
  std::unordered_set<std::string_view> known;
  for (int64_t i = 0; i < list.size(); ++i) {
    if (!list[i].is(Kind::dict))
      return damaged_table(file, fmt::format("element {} of its list is not a dict", i));
    for (int64_t k = 0; k < list[i].pairs(); ++k) {
      const PickleValue key = list[i].key(k);
      if (!key.is(Kind::text)) return damaged_table(file, "a key is not a text");
      if (!known.insert(key.text()).second) continue;
      const Cell name = HONE_TRY(cell_of(key, file));
      table.names.push_back(std::get<std::string>(name));
      table.columns.push_back(std::make_unique<RecordCells>(list, table.names.back(), file));
    }
  }
  table.rows = list.size();
  return Ok{};
}

Status read_lists(const PickleValue& dict, const std::string& file, PickledTable& table) {
  for (int64_t i = 0; i < dict.pairs(); ++i) {
    const Cell name = HONE_TRY(cell_of(dict.key(i), file));
    const auto* text = std::get_if<std::string>(&name);
    const PickleValue list = dict.value(i);
    if (text == nullptr || !list.is(Kind::list))
      return damaged_table(file,
                           "its dict has a key that is not a text, or a value that is not a list");
    if (i > 0 && list.size() != table.rows)
      return damaged_table(file, fmt::format("column '{}' has {} rows, the first one {}", *text,
                                             list.size(), table.rows));
    table.rows = list.size();
    table.names.push_back(*text);
    table.columns.push_back(cells_of_list(list, file));
  }
  return Ok{};
}

}  // namespace

Result<PickledTable> read_pickled_table(const Pickle& pickle, const std::string& file) {
  PickledTable table;
  const PickleValue root = pickle.root();
  if (is_pandas(root, "DataFrame"))
    HONE_TRY(FrameReader(file, table).read(root));
  else if (root.is(Kind::list) && root[0].is(Kind::dict))
    HONE_TRY(read_records(root, file, table));
  else if (root.is(Kind::dict))
    HONE_TRY(read_lists(root, file, table));
  else if (root.is(Kind::object) || root.is(Kind::global))
    return refused_table_class(file, root);
  else
    return damaged_table(file, "it is neither a DataFrame nor a list of dicts nor a dict of lists");
  return table;
}

}  // namespace hone

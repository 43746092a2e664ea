#include "engine/backends/xla/writer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/core/error.h"
#include "base/core/text.h"

namespace hone::xla {
namespace {

std::string list_text(const std::vector<int64_t>& values) {
  return fmt::format("[{}]", fmt::join(values, ", "));
}

std::string hex(const void* data, size_t bytes) {
  std::string text = "0x";
  for (size_t i = 0; i < bytes; ++i)
    text += fmt::format("{:02X}", static_cast<const uint8_t*>(data)[i]);
  return text;
}

// The literal of a float by its bits, so that no digit is lost.
std::string float_literal(double value, const std::string& element) {
  if (element == "f64") {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return fmt::format("0x{:016X}", bits);
  }
  const auto single = static_cast<float>(value);
  if (element == "bf16") return fmt::format("0x{:04X}", f32_to_bf16(single));
  if (element == "f16") return fmt::format("0x{:04X}", f32_to_f16(single));
  uint32_t bits;
  std::memcpy(&bits, &single, sizeof bits);
  return fmt::format("0x{:08X}", bits);
}

std::string signature(const Refs& from, const Refs& to) {
  std::vector<std::string> in, out;
  for (const Ref& x : from) in.push_back(x.type());
  for (const Ref& x : to) out.push_back(x.type());
  return fmt::format("({}) -> ({})", join(in, ", "), join(out, ", "));
}

std::string returned(const Refs& results) {
  std::vector<std::string> names, types;
  for (const Ref& r : results) {
    names.push_back(r.name);
    types.push_back(r.type());
  }
  if (names.empty()) return "    return\n";
  return fmt::format("    return {} : {}\n", join(names, ", "), join(types, ", "));
}

bool is_float_name(const std::string& element) { return element[0] == 'f' || element[0] == 'b'; }

}  // namespace

std::string type_text(const std::string& element, const Shape& shape) {
  std::string text = "tensor<";
  for (const int64_t d : shape) text += fmt::format("{}x", d);
  return text + element + ">";
}
std::string Ref::type() const { return type_text(element, shape); }

std::string element_of(DType t) {
  switch (t) {
    case DType::boolean:
      return "i1";
    case DType::u8:
      return "ui8";
    default:
      return std::string(name_of(t));
  }
}
bool is_float(const Ref& x) { return is_float_name(x.element); }
bool is_narrow(const Ref& x) { return x.element == "bf16" || x.element == "f16"; }

Ref Writer::append(const std::string& element, Shape shape, const std::string& operation) {
  Ref r{fmt::format("%{}", next_++), element, std::move(shape)};
  begin_statement({r});
  body_ += fmt::format("    {} = {}\n", r.name, operation);
  return r;
}

Ref Writer::number(double value, const std::string& element, const Shape& shape) {
  const std::string text = element == "i1" ? (value != 0 ? "true" : "false")
                           : is_float_name(element)
                               ? float_literal(value, element)
                               : fmt::format("{}", std::llrint(std::trunc(value)));
  const Ref scalar =
      append(element, {}, fmt::format("stablehlo.constant dense<{}> : tensor<{}>", text, element));
  return shape.empty() ? scalar : fill(scalar, shape);
}

Ref Writer::whole(uint64_t value, const std::string& element, const Shape& shape) {
  const std::string text =
      element[0] == 'u' ? fmt::format("{}", value) : fmt::format("{}", static_cast<int64_t>(value));
  const Ref scalar =
      append(element, {}, fmt::format("stablehlo.constant dense<{}> : tensor<{}>", text, element));
  return shape.empty() ? scalar : fill(scalar, shape);
}

Ref Writer::table(const std::string& element, Shape shape, const void* data, size_t bytes) {
  const std::string type = type_text(element, shape);
  return append(element, std::move(shape),
                fmt::format("stablehlo.constant dense<\"{}\"> : {}", hex(data, bytes), type));
}

Ref Writer::table(const std::vector<std::string>& literals, const std::string& element) {
  const Shape shape{static_cast<int64_t>(literals.size())};
  return append(element, shape,
                fmt::format("stablehlo.constant dense<[{}]> : {}", join(literals, ", "),
                            type_text(element, shape)));
}

Ref Writer::iota(const std::string& element, const Shape& shape, int64_t axis) {
  return append(element, shape,
                fmt::format("stablehlo.iota dim = {} : {}", axis, type_text(element, shape)));
}

Ref Writer::unary(const std::string& op, const Ref& x) {
  return append(x.element, x.shape, fmt::format("stablehlo.{} {} : {}", op, x.name, x.type()));
}

Ref Writer::binary(const std::string& op, const Ref& x, const Ref& y) {
  return append(x.element, x.shape,
                fmt::format("stablehlo.{} {}, {} : {}", op, x.name, y.name, x.type()));
}

Ref Writer::compare(const std::string& how, const Ref& x, const Ref& y) {
  const std::string kind = is_float(x)                                ? "FLOAT"
                           : x.element[0] == 'u' || x.element == "i1" ? "UNSIGNED"
                                                                      : "SIGNED";
  return append("i1", x.shape,
                fmt::format("stablehlo.compare {}, {}, {}, {} : ({}, {}) -> {}", how, x.name,
                            y.name, kind, x.type(), y.type(), type_text("i1", x.shape)));
}

Ref Writer::select(const Ref& condition, const Ref& x, const Ref& y) {
  return append(x.element, x.shape,
                fmt::format("stablehlo.select {}, {}, {} : {}, {}", condition.name, x.name, y.name,
                            condition.type(), x.type()));
}

Ref Writer::erf(const Ref& x) {
  return append(x.element, x.shape,
                fmt::format("chlo.erf {} : {} -> {}", x.name, x.type(), x.type()));
}

Ref Writer::convert(const Ref& x, const std::string& element) {
  if (x.element == element) return x;
  return append(element, x.shape,
                fmt::format("stablehlo.convert {} : ({}) -> {}", x.name, x.type(),
                            type_text(element, x.shape)));
}

Ref Writer::bitcast(const Ref& x, const std::string& element) {
  if (x.element == element) return x;
  return append(element, x.shape,
                fmt::format("stablehlo.bitcast_convert {} : ({}) -> {}", x.name, x.type(),
                            type_text(element, x.shape)));
}

Ref Writer::round_to_bf16(const Ref& x) {
  return append(x.element, x.shape,
                fmt::format("stablehlo.reduce_precision {}, format = e8m7 : {}", x.name, x.type()));
}

Ref Writer::widen(const Ref& x) { return is_narrow(x) ? convert(x, "f32") : x; }

Ref Writer::narrow(const Ref& x, const std::string& element) {
  if (x.element == element) return x;
  if (element != "bf16" && element != "f16") return convert(x, element);
  const Ref wide = convert(x, "f32");
  return convert(element == "bf16" ? round_to_bf16(wide) : wide, element);
}

Ref Writer::broadcast(const Ref& x, const Shape& shape, const std::vector<int64_t>& axes) {
  if (x.shape == shape) return x;
  return append(x.element, shape,
                fmt::format("stablehlo.broadcast_in_dim {}, dims = {} : ({}) -> {}", x.name,
                            list_text(axes), x.type(), type_text(x.element, shape)));
}

Ref Writer::reshape(const Ref& x, const Shape& shape) {
  if (x.shape == shape) return x;
  return append(x.element, shape,
                fmt::format("stablehlo.reshape {} : ({}) -> {}", x.name, x.type(),
                            type_text(x.element, shape)));
}

Ref Writer::slice(const Ref& x, int64_t axis, int64_t begin, int64_t end) {
  Shape shape = x.shape;
  std::vector<std::string> ranges;
  for (size_t d = 0; d < shape.size(); ++d) {
    const bool here = static_cast<int64_t>(d) == axis;
    ranges.push_back(fmt::format("{}:{}", here ? begin : 0, here ? end : shape[d]));
  }
  if (shape[static_cast<size_t>(axis)] == end - begin) return x;
  shape[static_cast<size_t>(axis)] = end - begin;
  return append(x.element, shape,
                fmt::format("stablehlo.slice {} [{}] : ({}) -> {}", x.name, join(ranges, ", "),
                            x.type(), type_text(x.element, shape)));
}

Ref Writer::concat(const Refs& parts, int64_t axis) {
  if (parts.size() == 1) return parts[0];
  Shape shape = parts[0].shape;
  shape[static_cast<size_t>(axis)] = 0;
  std::vector<std::string> names, types;
  for (const Ref& x : parts) {
    shape[static_cast<size_t>(axis)] += x.shape[static_cast<size_t>(axis)];
    names.push_back(x.name);
    types.push_back(x.type());
  }
  return append(parts[0].element, shape,
                fmt::format("stablehlo.concatenate {}, dim = {} : ({}) -> {}", join(names, ", "),
                            axis, join(types, ", "), type_text(parts[0].element, shape)));
}

Ref Writer::transpose(const Ref& x, const std::vector<int64_t>& permutation) {
  Shape shape;
  for (const int64_t d : permutation) shape.push_back(x.shape[static_cast<size_t>(d)]);
  return append(x.element, shape,
                fmt::format("stablehlo.transpose {}, dims = {} : ({}) -> {}", x.name,
                            list_text(permutation), x.type(), type_text(x.element, shape)));
}

Ref Writer::flat(const Ref& x, int64_t count) {
  int64_t own = 1;
  for (const int64_t d : x.shape) own *= d;
  const Ref one = reshape(x, {own});
  return own == count ? one : concat({one, number(0, x.element, {count - own})}, 0);
}

Ref Writer::reduce(const std::string& op, const Ref& x, const Ref& start,
                   const std::vector<int64_t>& axes) {
  if (axes.empty()) return x;
  Shape shape;
  for (size_t d = 0; d < x.shape.size(); ++d)
    if (std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) == axes.end())
      shape.push_back(x.shape[d]);
  return append(
      x.element, shape,
      fmt::format("stablehlo.reduce({} init: {}) applies stablehlo.{} across dimensions = {} "
                  ": ({}, {}) -> {}",
                  x.name, start.name, op, list_text(axes), x.type(), start.type(),
                  type_text(x.element, shape)));
}

Ref Writer::dot(const Ref& x, const Ref& y, bool trans_x, bool trans_y, const std::string& result) {
  const auto rank = static_cast<int64_t>(x.shape.size());
  std::vector<int64_t> batch;
  for (int64_t d = 0; d < rank - 2; ++d) batch.push_back(d);
  const int64_t inner_x = rank - (trans_x ? 2 : 1), inner_y = rank - (trans_y ? 1 : 2);
  Shape shape = x.shape;
  shape[static_cast<size_t>(rank - 2)] = x.shape[static_cast<size_t>(rank - (trans_x ? 1 : 2))];
  shape[static_cast<size_t>(rank - 1)] = y.shape[static_cast<size_t>(rank - (trans_y ? 2 : 1))];
  return append(
      result, shape,
      fmt::format("stablehlo.dot_general {}, {},{} contracting_dims = [{}] x [{}], precision = "
                  "[HIGHEST, HIGHEST] : ({}, {}) -> {}",
                  x.name, y.name,
                  batch.empty() ? "" : fmt::format(" batching_dims = {0} x {0},", list_text(batch)),
                  inner_x, inner_y, x.type(), y.type(), type_text(result, shape)));
}

Ref Writer::rows(const Ref& x, const Ref& ids) {
  Shape shape = x.shape, slice = x.shape;
  shape[0] = ids.shape[0];
  slice[0] = 1;
  std::vector<int64_t> offset_dims;
  for (size_t d = 1; d < shape.size(); ++d) offset_dims.push_back(static_cast<int64_t>(d));
  const Ref column = reshape(ids, {ids.shape[0], 1});
  return append(
      x.element, shape,
      fmt::format(
          "\"stablehlo.gather\"({}, {}) <{{dimension_numbers = #stablehlo.gather<offset_dims = "
          "{}, collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
          "slice_sizes = array<i64: {}>, indices_are_sorted = false}}> : ({}, {}) -> {}",
          x.name, column.name, list_text(offset_dims), fmt::join(slice, ", "), x.type(),
          column.type(), type_text(x.element, shape)));
}

Refs Writer::sort(const Ref& keys, const Ref& values) {
  const std::string result = fmt::format("%{}", next_++), scalar = type_text(keys.element, {});
  const Refs sorted{{result + "#0", keys.element, keys.shape},
                    {result + "#1", values.element, values.shape}};
  begin_statement(sorted);
  body_ += fmt::format(
      "    {0}:2 = \"stablehlo.sort\"({1}, {2}) <{{dimension = 0 : i64, is_stable = true}}> ({{\n"
      "    ^bb0(%a: {3}, %b: {3}, %c: {3}, %d: {3}):\n      %less = stablehlo.compare LT, %a, %b, "
      "SIGNED : ({3}, {3}) -> tensor<i1>\n      stablehlo.return %less : tensor<i1>\n    }}) : "
      "({4}, "
      "{4}) -> ({4}, {4})\n",
      result, keys.name, values.name, scalar, keys.type());
  return sorted;
}

Ref Writer::add_rows(const Ref& onto, const Ref& ids, const Ref& updates) {
  std::vector<int64_t> window;
  for (size_t d = 1; d < updates.shape.size(); ++d) window.push_back(static_cast<int64_t>(d));
  const Ref column = reshape(ids, {ids.shape[0], 1});
  const std::string scalar = type_text(onto.element, {});
  return append(
      onto.element, onto.shape,
      fmt::format(
          "\"stablehlo.scatter\"({0}, {1}, {2}) <{{scatter_dimension_numbers = "
          "#stablehlo.scatter<update_window_dims = {3}, inserted_window_dims = [0], "
          "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, indices_are_sorted = false, "
          "unique_indices = false}}> ({{\n    ^bb0(%old: {4}, %new: {4}):\n      %sum = "
          "stablehlo.add "
          "%old, %new : {4}\n      stablehlo.return %sum : {4}\n    }}) : ({5}, {6}, {7}) -> {5}",
          onto.name, column.name, updates.name, list_text(window), scalar, onto.type(),
          column.type(), updates.type()));
}

Refs Writer::barrier(const Refs& values) {
  const std::string result = fmt::format("%{}", next_++);
  const size_t count = values.size();
  std::vector<std::string> names, types;
  Refs out;
  for (const Ref& x : values) {
    names.push_back(x.name);
    types.push_back(x.type());
    out.push_back(
        {count > 1 ? fmt::format("{}#{}", result, out.size()) : result, x.element, x.shape});
  }
  begin_statement(out);
  body_ +=
      fmt::format("    {}{} = stablehlo.optimization_barrier {} : {}\n", result,
                  count > 1 ? fmt::format(":{}", count) : "", join(names, ", "), join(types, ", "));
  return out;
}

Ref Writer::row_major(const Ref& x) {
  std::vector<int64_t> order;
  for (auto d = std::ssize(x.shape); d-- > 0;) order.push_back(d);
  const std::string layout =
      fmt::format("[dense<{}> : tensor<{}xindex>]", list_text(order), order.size());
  return append(x.element, x.shape,
                fmt::format("stablehlo.custom_call @LayoutConstraint({}) {{operand_layouts = {}, "
                            "result_layouts = {}}} : ({}) -> {}",
                            x.name, layout, layout, x.type(), x.type()));
}

namespace {

std::string replica_groups(int64_t ranks) {
  std::vector<int64_t> all;
  for (int64_t r = 0; r < ranks; ++r) all.push_back(r);
  return fmt::format("replica_groups = dense<[{}]> : tensor<1x{}xi64>", list_text(all), ranks);
}

// The body of a collective that adds two elements.
std::string adds(const std::string& element) {
  return fmt::format(
      "({{\n    ^bb0(%old: {0}, %new: {0}):\n      %sum = stablehlo.add %old, %new : {0}\n      "
      "stablehlo.return %sum : {0}\n    }})",
      type_text(element, {}));
}

}  // namespace

Ref Writer::all_reduce(const Ref& x, int64_t ranks) {
  return append(x.element, x.shape,
                fmt::format("\"stablehlo.all_reduce\"({}) <{{{}}}> {} : ({}) -> {}", x.name,
                            replica_groups(ranks), adds(x.element), x.type(), x.type()));
}

Ref Writer::reduce_scatter(const Ref& x, int64_t ranks) {
  Shape shape = x.shape;
  shape[0] /= ranks;
  return append(
      x.element, shape,
      fmt::format("\"stablehlo.reduce_scatter\"({}) <{{{}, scatter_dimension = 0 : i64}}> "
                  "{} : ({}) -> {}",
                  x.name, replica_groups(ranks), adds(x.element), x.type(),
                  type_text(x.element, shape)));
}

Ref Writer::all_gather(const Ref& x, int64_t ranks) {
  Shape shape = x.shape;
  shape[0] *= ranks;
  return append(
      x.element, shape,
      fmt::format("\"stablehlo.all_gather\"({}) <{{all_gather_dim = 0 : i64, {}}}> : ({}) "
                  "-> {}",
                  x.name, replica_groups(ranks), x.type(), type_text(x.element, shape)));
}

Ref Writer::number_of_replica(const std::vector<int64_t>& numbers) {
  const Ref table = this->table("i64", {static_cast<int64_t>(numbers.size())}, numbers.data(),
                                numbers.size() * sizeof(int64_t));
  const Ref id = append("ui32", {}, "stablehlo.replica_id : tensor<ui32>");
  return row(table, convert(id, "i64"));
}

Ref Writer::first_rows_of_replica(const Ref& x, const std::vector<int64_t>& rows) {
  const Ref count = fill(number_of_replica(rows), x.shape);
  return select(compare("LT", iota("i64", x.shape, 0), count), x, number_like(0, x));
}

Ref Writer::slice_of_replica(const Ref& given, int64_t axis, const std::vector<int64_t>& begins,
                             int64_t size) {
  const auto at = static_cast<size_t>(axis);
  const Ref x = padded(given, axis, *std::max_element(begins.begin(), begins.end()) + size);
  const Ref begin = number_of_replica(begins), zero = whole(0, "i64");
  std::vector<std::string> starts(x.shape.size(), zero.name), types(x.shape.size(), zero.type());
  starts[at] = begin.name;
  Shape shape = x.shape;
  shape[at] = size;
  return append(x.element, shape,
                fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", x.name,
                            join(starts, ", "), list_text(shape), x.type(), join(types, ", "),
                            type_text(x.element, shape)));
}

Ref Writer::padded(const Ref& x, int64_t axis, int64_t size) {
  Shape more = x.shape;
  int64_t& own = more[static_cast<size_t>(axis)];
  if (own >= size) return x;
  own = size - own;
  return concat({x, number(0, x.element, more)}, axis);
}

// The first index of each dimension, and their types.
std::pair<std::string, std::string> Writer::row_starts(const Ref& x, const Ref& index) {
  const Ref zero = whole(0, index.element);
  std::string starts = index.name, types = index.type();
  for (size_t d = 1; d < x.shape.size(); ++d) {
    starts += ", " + zero.name;
    types += ", " + zero.type();
  }
  return {starts, types};
}

Ref Writer::row(const Ref& x, const Ref& index, const Shape& shape) {
  Shape one = shape;
  one.insert(one.begin(), 1);
  const auto [starts, types] = row_starts(x, index);
  const Ref slice =
      append(x.element, one,
             fmt::format("stablehlo.dynamic_slice {}, {}, sizes = {} : ({}, {}) -> {}", x.name,
                         starts, list_text(one), x.type(), types, type_text(x.element, one)));
  return reshape(slice, shape);
}

Ref Writer::set_row(const Ref& x, const Ref& index, const Ref& row) {
  Shape one = row.shape;
  one.insert(one.begin(), 1);
  const Ref update = reshape(row, one);
  const auto [starts, types] = row_starts(x, index);
  return append(x.element, x.shape,
                fmt::format("stablehlo.dynamic_update_slice {}, {}, {} : ({}, {}, {}) -> {}",
                            x.name, update.name, starts, x.type(), update.type(), types, x.type()));
}

Refs Writer::loop(int64_t count, const Refs& carried, const Turn& body) {
  return loop(whole(0, "i32"), whole(static_cast<uint64_t>(count), "i32"), carried, body);
}

Refs Writer::loop(const Ref& begin, const Ref& end, const Refs& carried, const Turn& body) {
  const Ref one = whole(1, "i32");
  Refs given{begin}, inside;
  given.insert(given.end(), carried.begin(), carried.end());
  const std::string result = fmt::format("%{}", next_++);
  std::vector<std::string> bound, types;
  for (const Ref& g : given) {
    inside.push_back({fmt::format("%l{}", next_++), g.element, g.shape});
    bound.push_back(fmt::format("{} = {}", inside.back().name, g.name));
    types.push_back(g.type());
  }
  Refs all;
  for (size_t i = 0; i < given.size(); ++i)
    all.push_back({fmt::format("{}#{}", result, i), given[i].element, given[i].shape});
  begin_statement(all);
  ++depth_;
  body_ += fmt::format("    {}:{} = stablehlo.while({}) : {}\n     cond {{\n", result, given.size(),
                       join(bound, ", "), join(types, ", "));
  const Ref more = compare("LT", inside[0], end);
  body_ += fmt::format("      stablehlo.return {} : tensor<i1>\n    }} do {{\n", more.name);
  const Refs made = body(inside[0], {inside.begin() + 1, inside.end()});
  std::vector<std::string> next{binary("add", inside[0], one).name};
  for (size_t i = 0; i < made.size(); ++i) {
    HONE_BUG_IF(made[i].type() != types[i + 1], "a loop carries {} and makes {}", types[i + 1],
                made[i].type());
    next.push_back(made[i].name);
  }
  body_ +=
      fmt::format("      stablehlo.return {} : {}\n    }}\n", join(next, ", "), join(types, ", "));
  --depth_;
  return {all.begin() + 1, all.end()};
}

Refs Writer::call(const std::string& name, const Refs& arguments,
                  const std::function<Refs(Writer&, const Refs&)>& body,
                  const std::string& variant) {
  std::string key = name + " " + variant;
  for (const Ref& a : arguments) key += " " + a.type();
  if (!functions_.contains(key)) {
    Refs inside;
    std::vector<std::string> texts;
    for (const Ref& a : arguments) {
      inside.push_back({fmt::format("%a{}", inside.size()), a.element, a.shape});
      texts.push_back(fmt::format("{}: {}", inside.back().name, a.type()));
    }
    const std::string outer = std::exchange(body_, "");
    const int64_t outer_next = std::exchange(next_, 0);
    ++depth_;
    Function made{fmt::format("{}_{}", name, ++function_count_), {}};
    made.results = body(*this, inside);
    std::vector<std::string> results;
    for (const Ref& r : made.results) results.push_back(r.type());
    texts_ += fmt::format("  func.func private @{}({}) -> ({}) {{\n{}{}  }}\n", made.name,
                          join(texts, ", "), join(results, ", "), body_, returned(made.results));
    body_ = outer;
    next_ = outer_next;
    --depth_;
    functions_.emplace(key, std::move(made));
  }
  const Function& f = functions_.at(key);
  std::vector<std::string> names;
  for (const Ref& a : arguments) names.push_back(a.name);
  const std::string result = fmt::format("%{}", next_++);
  const size_t count = f.results.size();
  Refs out;
  for (const Ref& r : f.results)
    out.push_back(
        {count > 1 ? fmt::format("{}#{}", result, out.size()) : result, r.element, r.shape});
  begin_statement(out);
  body_ += fmt::format("    {}{} = func.call @{}({}) : {}\n", result,
                       count > 1 ? fmt::format(":{}", count) : "", f.name, join(names, ", "),
                       signature(arguments, f.results));
  return out;
}

std::string Writer::module(const std::vector<std::string>& arguments, const Refs& results) const {
  std::vector<std::string> types;
  for (const Ref& r : results) types.push_back(r.type());
  return fmt::format("module @hone {{\n  func.func public @main({}) -> ({}) {{\n{}{}  }}\n{}}}\n",
                     join(arguments, ", "), join(types, ", "), body_, returned(results), texts_);
}

}  // namespace hone::xla

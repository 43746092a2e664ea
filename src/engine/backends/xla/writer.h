// Writes StableHLO text (openxla.org/stablehlo/spec): each call appends one operation to the body of
// a function and returns its result. Elements have StableHLO's names: f32, ui32, i1. Operands must
// have the types that the operation asks for; the plug-in's verifier refuses others.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/type.h"

namespace hone::xla {

// A value of the text.
struct Ref {
  std::string name;     // "%12", "%12#1"
  std::string element;  // "f32"
  Shape shape;
  std::string type() const;  // "tensor<4x8xf32>"
};
using Refs = std::vector<Ref>;

std::string element_of(DType t);
bool is_float(const Ref& x);
bool is_narrow(const Ref& x);  // bf16 or f16
std::string type_text(const std::string& element, const Shape& shape);

// The widest integers that a device multiplies itself: a CPU those of 64 bits. The compiler of TPUs takes several times
// as long for the operations that stand for them, and the plug-ins for CPUs for those of 32 bits.
enum class Integers { of_32_bits, of_64_bits };

// The dropouts of a program (draws.h).
struct Dropouts {
  std::vector<std::string> places;   // names of all of them, each once
  std::map<std::string, Refs> keys;  // by the name of rng: ui32[places], low and high
};

// A convolution over two dimensions. `dims`: StableHLO's names of the dimensions of the operands and the result.
struct ConvolutionText {
  using Pair = std::array<int64_t, 2>;
  std::string dims;
  Pair stride = {1, 1}, before = {0, 0}, after = {0, 0};  // padding; negative: rows are left out
  Pair dilation = {1, 1}, kernel_dilation = {1, 1};
  int64_t feature_groups = 1, batch_groups = 1;
};

// Windows over the rows and columns of images [B,H,W,C].
struct WindowText {
  using Pair = std::array<int64_t, 2>;
  Pair size = {1, 1}, stride = {1, 1}, before = {0, 0}, after = {0, 0};  // padding
  Pair dilation = {1, 1};
};

class Writer {
 public:
  explicit Writer(Integers integers = Integers::of_64_bits, std::vector<std::string> places = {})
      : dropouts{std::move(places), {}}, integers_(integers) {}
  Integers integers() const { return integers_; }
  Dropouts dropouts;

  // Constants. An integer element takes the whole part of `value`.
  Ref number(double value, const std::string& element, const Shape& shape = {});
  Ref whole(uint64_t value, const std::string& element, const Shape& shape = {});
  Ref table(const std::string& element, Shape shape, const void* data, size_t bytes);
  Ref number_like(double value, const Ref& x) { return number(value, x.element, x.shape); }
  Ref whole_like(uint64_t value, const Ref& x) { return whole(value, x.element, x.shape); }
  Ref iota(const std::string& element, const Shape& shape, int64_t axis);

  // `op` is StableHLO's name without its prefix: "add", "shift_right_logical".
  Ref unary(const std::string& op, const Ref& x);
  Ref binary(const std::string& op, const Ref& x, const Ref& y);
  Ref compare(const std::string& how, const Ref& x, const Ref& y);  // EQ NE LT LE GT GE
  Ref select(const Ref& condition, const Ref& x, const Ref& y);     // equal shapes
  Ref erf(const Ref& x);
  Ref convert(const Ref& x, const std::string& element);
  Ref bitcast(const Ref& x, const std::string& element);
  // f32 rounded to the numbers of bf16; no pass of a compiler takes it away as it may take two
  // conversions. (The same operation for f16 would make its subnormal numbers zero.)
  Ref round_to_bf16(const Ref& x);
  // Narrow floats as f32; and f32 as `element`, rounded to nearest even.
  Ref widen(const Ref& x);
  Ref narrow(const Ref& x, const std::string& element);

  Ref broadcast(const Ref& x, const Shape& shape, const std::vector<int64_t>& axes);
  Ref fill(const Ref& scalar, const Shape& shape) { return broadcast(scalar, shape, {}); }
  Ref reshape(const Ref& x, const Shape& shape);
  Ref slice(const Ref& x, int64_t axis, int64_t begin, int64_t end);
  Ref concat(const Refs& parts, int64_t axis);
  Ref transpose(const Ref& x, const std::vector<int64_t>& permutation);
  // The elements in one dimension, followed by zeros up to `count`.
  Ref flat(const Ref& x, int64_t count);

  // `op` add, maximum: over axes, which the result does not have.
  Ref reduce(const std::string& op, const Ref& x, const Ref& start,
             const std::vector<int64_t>& axes);
  // Batched product of the last two dimensions, `trans_*`: swapped, with elements of `result`.
  Ref dot(const Ref& x, const Ref& y, bool trans_x, bool trans_y, const std::string& result);
  // Has the type of `like`.
  Ref convolution(const Ref& x, const Ref& kernel, const ConvolutionText& c, const Ref& like);
  Ref reverse(const Ref& x, const std::vector<int64_t>& axes);
  // `op` add, maximum: over each window of images, whose padding is `start`.
  Ref reduce_windows(const std::string& op, const Ref& x, double start, const WindowText& t,
                     const Shape& shape);
  // Zeros like the images x, with the sum of the updates of all windows whose first largest element it is in each
  // place. The windows have no dilation.
  Ref add_to_largest(const Ref& x, const Ref& updates, const WindowText& t);
  // Images whose rows and columns are a stride apart, with zeros between, before and after them.
  Ref spread(const Ref& x, const WindowText::Pair& stride, const WindowText::Pair& before,
             const WindowText::Pair& after);
  // Rows of x by ids i32[N]; ids outside are moved to the nearest row. x has a row.
  Ref rows(const Ref& x, const Ref& ids);
  // Keys i32[N] in growing order, equal ones in their own, and the values i32[N] beside them.
  Refs sort(const Ref& keys, const Ref& values);
  // onto + rows of updates at ids; ids outside are skipped.
  Ref add_rows(const Ref& onto, const Ref& ids, const Ref& updates);

  // The values, which the compiler takes for new ones: it computes nothing from them before all of
  // them are there, and merges no reader of theirs with one of the old ones.
  Refs barrier(const Refs& values);

  // Over `ranks` replicas, in the order of their numbers: the sum; this replica's rows of the sum; the
  // rows of all, one after another.
  Ref all_reduce(const Ref& x, int64_t ranks);
  Ref reduce_scatter(const Ref& x, int64_t ranks);
  Ref all_gather(const Ref& x, int64_t ranks);
  // numbers[replica], i64[].
  Ref number_of_replica(const std::vector<int64_t>& numbers);
  // x with zeros after its first rows[replica] rows.
  Ref first_rows_of_replica(const Ref& x, const std::vector<int64_t>& rows);
  // x with zeros at the end of the axis, which then has at least this size.
  Ref padded(const Ref& x, int64_t axis, int64_t size);
  // Rows of x along the axis: `size` from begins[replica]; zeros after its last row.
  Ref slice_of_replica(const Ref& x, int64_t axis, const std::vector<int64_t>& begins,
                       int64_t size);

  // The row of x at the index i32[], without its dimension; and x with another row there.
  Ref row(const Ref& x, const Ref& index);
  Ref set_row(const Ref& x, const Ref& index, const Ref& row);
  // Repeats the body with an index i32[] of 0 to count - 1: it takes the carried values and returns those
  // for the next turn, which have their types.
  using Turn = std::function<Refs(const Ref& index, const Refs& carried)>;
  Refs loop(int64_t count, const Refs& carried, const Turn& body);
  // The same from `begin` to `end` - 1, i32[]: values of the program.
  Refs loop(const Ref& begin, const Ref& end, const Refs& carried, const Turn& body);

  // Calls a function of the module. Its first use with these types of arguments writes it. `variant`
  // names whatever else its body depends on.
  Refs call(const std::string& name, const Refs& arguments,
            const std::function<Refs(Writer&, const Refs&)>& body, const std::string& variant = "");

  // The module: the functions of call(), then main() with the arguments' texts, which contain their
  // types, and the results.
  std::string module(const std::vector<std::string>& arguments, const Refs& results) const;

 private:
  std::pair<std::string, std::string> row_starts(const Ref& x, const Ref& index);
  Ref append(const std::string& element, Shape shape, const std::string& operation);
  struct Function {
    std::string name;
    Refs results;
  };
  Integers integers_;
  std::string body_;
  int64_t next_ = 0, function_count_ = 0;
  std::map<std::string, Function> functions_;  // by name and types
  std::string texts_;                          // of the functions
};

}  // namespace hone::xla

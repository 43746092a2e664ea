// Writes StableHLO text (openxla.org/stablehlo/spec). Each call appends an operation to the body of a
// function and returns a reference to the result. Element types have StableHLO's names: f32, ui32, i1.
// Operands must have the types that the operation demands: they are not checked here, but by the
// plug-in's compiler.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/graph/type.h"

namespace hone::xla {

// A value of the text: a reference to an operation's result.
struct Ref {
  std::string name;     // "%12", "%12#1"
  std::string element;  // "f32"
  Shape shape;
  bool row_of_stack = false;  // it is in StateStack::rows
  std::string type() const;   // "tensor<4x8xf32>"
};
using Refs = std::vector<Ref>;

std::string element_of(DType t);  // StableHLO's name of a type: "ui8" for u8, "i1" for booleans
bool is_float(const Ref& x);
bool is_narrow(const Ref& x);                                           // bf16 or f16
std::string type_text(const std::string& element, const Shape& shape);  // "tensor<4x8xf32>"

// The integers to use for products of 32-bit numbers. of_64_bits is for CPUs, which multiply 64-bit integers
// themselves. of_32_bits is for TPUs, whose compiler must emulate 64-bit products. With the other choice, each compiler
// takes several times as long.
enum class Integers { of_32_bits, of_64_bits };

// The dropouts of a program (draws.h).
struct Dropouts {
  std::vector<std::string> places;  // the names of all dropouts, each once
  // The random keys that were computed, by the name of an operand rng: two values ui32[places], the low halves of the
  // keys and the high halves.
  std::map<std::string, Refs> keys;
};

// The attributes of a StableHLO convolution over two spatial dimensions. A Pair is {rows, columns}.
struct ConvolutionText {
  using Pair = std::array<int64_t, 2>;
  std::string dims;  // dimension_numbers: "[b, 0, 1, f]x[o, i, 0, 1]->[b, 0, 1, f]"
  // before, after: padding with zeros; negative: this number of rows or columns is left out.
  Pair stride = {1, 1}, before = {0, 0}, after = {0, 0};
  Pair dilation = {1, 1}, kernel_dilation = {1, 1};  // of the image, of the kernel
  int64_t feature_groups = 1, batch_groups = 1;
};

// States of equal type, such as the weights of one kind of all layers, as one array. Rows of the array are values of the
// program, which have no statement until Writer::roll() writes one where it is needed.
struct StateStack {
  Ref array;  // an argument [rows, ...]
  Refs rows;  // by row: its value, without a name if the program does not use it
  Refs next;  // by row: the value that replaces it, without a name if the row stays
};

// Windows over the rows and columns of images [B,H,W,C]. A Pair is {rows, columns}. before, after: padding.
struct WindowText {
  using Pair = std::array<int64_t, 2>;
  Pair size = {1, 1}, stride = {1, 1}, before = {0, 0}, after = {0, 0};
  Pair dilation = {1, 1};
};

class Writer {
 public:
  // places: Dropouts::places.
  explicit Writer(Integers integers = Integers::of_64_bits, std::vector<std::string> places = {})
      : dropouts{std::move(places), {}}, integers_(integers) {}
  Integers integers() const { return integers_; }
  Dropouts dropouts;

  // A constant with `value` in every element. If the element type is an integer, number() truncates the value.
  Ref number(double value, const std::string& element, const Shape& shape = {});
  Ref whole(uint64_t value, const std::string& element, const Shape& shape = {});
  // A constant with these elements, row-major.
  Ref table(const std::string& element, Shape shape, const void* data, size_t bytes);
  // A constant with one dimension; literals: the elements in the form of the text.
  Ref table(const std::vector<std::string>& literals, const std::string& element);
  // A constant of the type of x.
  Ref number_like(double value, const Ref& x) { return number(value, x.element, x.shape); }
  Ref whole_like(uint64_t value, const Ref& x) { return whole(value, x.element, x.shape); }
  // Each element is its own index along the axis.
  Ref iota(const std::string& element, const Shape& shape, int64_t axis);

  // Elementwise operations. op: StableHLO's name without its prefix, such as "add" or "shift_right_logical".
  Ref unary(const std::string& op, const Ref& x);
  Ref binary(const std::string& op, const Ref& x, const Ref& y);
  Ref compare(const std::string& how, const Ref& x, const Ref& y);  // how: EQ NE LT LE GT GE
  Ref select(const Ref& condition, const Ref& x, const Ref& y);     // all three have one shape
  Ref erf(const Ref& x);
  Ref convert(const Ref& x, const std::string& element);
  Ref bitcast(const Ref& x, const std::string& element);
  // Rounds f32 to a number of bf16; the result is f32. Writes the operation reduce_precision, because a compiler may
  // drop two conversions that cancel, but not this operation. It is not used for f16, because it would turn subnormal
  // numbers into zero.
  Ref round_to_bf16(const Ref& x);
  // Converts bf16 and f16 to f32; other types stay.
  Ref widen(const Ref& x);
  // Converts x to `element`. Floats are rounded to nearest even.
  Ref narrow(const Ref& x, const std::string& element);

  // axes[d]: the dimension of `shape` that dimension d of x becomes.
  Ref broadcast(const Ref& x, const Shape& shape, const std::vector<int64_t>& axes);
  Ref fill(const Ref& scalar, const Shape& shape) { return broadcast(scalar, shape, {}); }
  Ref reshape(const Ref& x, const Shape& shape);
  Ref slice(const Ref& x, int64_t axis, int64_t begin, int64_t end);  // [begin, end) of the axis
  Ref concat(const Refs& parts, int64_t axis);
  Ref transpose(const Ref& x, const std::vector<int64_t>& permutation);
  // The elements of x in one dimension, followed by zeros up to `count`.
  Ref flat(const Ref& x, int64_t count);

  // Combines the elements over `axes` by op ("add", "maximum"), beginning with `start`. The result has the other axes.
  Ref reduce(const std::string& op, const Ref& x, const Ref& start,
             const std::vector<int64_t>& axes);
  // The batched matrix product over the last two dimensions. trans_x, trans_y: swap these dimensions of the operand
  // first. result: the element type of the result.
  Ref dot(const Ref& x, const Ref& y, bool trans_x, bool trans_y, const std::string& result);
  // A convolution. The result has the type of `like`.
  Ref convolution(const Ref& x, const Ref& kernel, const ConvolutionText& c, const Ref& like);
  Ref reverse(const Ref& x, const std::vector<int64_t>& axes);
  // Combines each window of the images x by op ("add", "maximum"). The padding has the value `start`. shape: that of
  // the result.
  Ref reduce_windows(const std::string& op, const Ref& x, double start, const WindowText& t,
                     const Shape& shape);
  // The gradient of a max pool: images like x, which are zero at first. Each window adds its element of `updates` at
  // the place of its largest element of x, the first one of equal elements. t.dilation must be {1, 1}.
  Ref add_to_largest(const Ref& x, const Ref& updates, const WindowText& t);
  // Moves the rows and columns of images apart: neighbors are then `stride` places from each other. There are zeros
  // between them, `before` zeros before the first and `after` zeros after the last.
  Ref spread(const Ref& x, const WindowText::Pair& stride, const WindowText::Pair& before,
             const WindowText::Pair& after);
  // Gathers rows of x by ids i32[N]. An id outside of x is moved to the nearest row. x must have at least one row.
  Ref rows(const Ref& x, const Ref& ids);
  // Sorts keys i32[N] in ascending order (stable), and permutes the values i32[N] with them. Returns both.
  Refs sort(const Ref& keys, const Ref& values);
  // Adds row i of updates to row ids[i] of `onto`, for all i; ids outside of `onto` are skipped.
  Ref add_rows(const Ref& onto, const Ref& ids, const Ref& updates);

  // An optimization barrier: returns new values that equal `values`. The compiler computes nothing from the new values
  // before all old ones are computed. It does not merge operations on new values with equal operations on old values.
  Refs barrier(const Refs& values);

  // x, which the compiler keeps in row-major order.
  Ref row_major(const Ref& x);

  // Collectives over `ranks` replicas, in the order of their numbers. all_reduce: the sum of x over the replicas.
  // reduce_scatter: this replica's share of the rows of the sum. all_gather: the rows of x of all replicas, one replica
  // after the other.
  Ref all_reduce(const Ref& x, int64_t ranks);
  Ref reduce_scatter(const Ref& x, int64_t ranks);
  Ref all_gather(const Ref& x, int64_t ranks);
  // i64[]: numbers[r] on replica r.
  Ref number_of_replica(const std::vector<int64_t>& numbers);
  // x with all rows after the first rows[r] set to zero, on replica r.
  Ref first_rows_of_replica(const Ref& x, const std::vector<int64_t>& rows);
  // x with zeros appended along the axis up to this size; x itself if it is as long.
  Ref padded(const Ref& x, int64_t axis, int64_t size);
  // Elements [begins[r], begins[r] + size) of x along the axis, on replica r. Elements after the end of x are zeros.
  Ref slice_of_replica(const Ref& x, int64_t axis, const std::vector<int64_t>& begins,
                       int64_t size);

  // Row number `index` (i32[]) of x; the result does not have the first dimension.
  Ref row(const Ref& x, const Ref& index) {
    return row(x, index, {x.shape.begin() + 1, x.shape.end()});
  }
  // The first elements of a row, along each dimension of `shape`.
  Ref row(const Ref& x, const Ref& index, const Shape& shape);
  // x with the first elements of row number `index` replaced, as many as `row` has.
  Ref set_row(const Ref& x, const Ref& index, const Ref& row);
  // Repeats the body for index i32[] = 0 to count - 1. The body gets the carried values and returns those for the next
  // turn, with the same types. Returns the values after the last turn.
  using Turn = std::function<Refs(const Ref& index, const Refs& carried)>;
  Refs loop(int64_t count, const Refs& carried, const Turn& body);
  // Repeats the body for index = begin to end - 1, which are values of the program, i32[].
  Refs loop(const Ref& begin, const Ref& end, const Refs& carried, const Turn& body);

  // Calls a function of the module. The first call with this name, these argument types and this variant writes the
  // function: body(writer, arguments) returns its results. variant: names everything else that the body depends on.
  Refs call(const std::string& name, const Refs& arguments,
            const std::function<Refs(Writer&, const Refs&)>& body, const std::string& variant = "");

  // Writes main() again, with its repeated layers as loops (roll.h). Returns `results` under their new names, then the
  // new versions of the stacks of which a row is replaced. arguments: those that are not stacks. fewest_layers: the
  // smallest number of equal layers that become a loop.
  Refs roll(const Refs& arguments, const Refs& results, const std::vector<StateStack>& stacks,
            int64_t fewest_layers);
  // Appends a statement that is written already, with its line break. Its results must have names of this writer.
  void statement(const std::string& text) { body_ += text; }

  // The text of the module: main(), then the functions of call(). arguments: the text of each argument of main, such as
  // "%arg0: tensor<4xf32>".
  std::string module(const std::vector<std::string>& arguments, const Refs& results) const;

 private:
  std::pair<std::string, std::string> row_starts(const Ref& x, const Ref& index);
  Ref append(const std::string& element, Shape shape, const std::string& operation);
  // The next text of body_ is a statement with these results.
  void begin_statement(Refs results) {
    if (depth_ == 0) statements_.push_back({body_.size(), std::move(results)});
  }
  struct Begun {
    size_t begin;  // in body_
    Refs results;
  };
  struct Function {
    std::string name;
    Refs results;
  };
  Integers integers_;
  std::string body_;
  std::vector<Begun> statements_;  // of main, in order
  int64_t depth_ = 0;              // of the loops and functions that are being written
  int64_t next_ = 0, function_count_ = 0;
  std::map<std::string, Function> functions_;  // by name, variant and argument types
  std::string texts_;                          // the text of the functions
};

}  // namespace hone::xla

// Finds the repeated layers of a function, so that they can be written as loops. A compiler compiles the body of a loop
// once, and its code takes device memory once.
//
// A layer is found by its text: a run of statements that is repeated with other operands and other constants. The
// weights of all layers are rows of one array (StateStack), which loops read and write in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/backends/xla/writer.h"

namespace hone::xla {

// A statement of a function: an operation with its results.
struct Statement {
  std::string text;  // with the line break at its end
  Refs results;      // a name without "#" if there is one
};

// A parsed function. Values are numbered: the arguments first, then the rows of stacks, then the results of statements.
struct Body {
  static constexpr int32_t kNone = -1;
  struct Value {
    Ref ref;
    int32_t statement = kNone;  // its statement; none: an argument or a row
    int32_t result = 0;         // its place in the results of the statement
    int32_t stack = kNone;      // the stack of which it is a row
    int32_t row = 0;
  };
  struct Operand {
    size_t at, length;  // its name in the text of the statement
    int32_t value;
  };
  struct Parsed {
    std::string text;
    int32_t kind =
        0;  // equal if the texts are equal but for names and the value of a scalar constant
    std::string constant;      // the literal, if the statement is a scalar constant
    int32_t first_result = 0;  // the number of its first value
    int32_t result_count = 1;
    std::vector<Operand> operands;
  };
  const Value& value(int32_t v) const { return values[static_cast<size_t>(v)]; }
  std::vector<Value> values;
  std::vector<Parsed> statements;
  std::vector<int32_t> results;  // values that the function returns
  std::vector<std::vector<int32_t>>
      next;  // by stack and row: the value that replaces the row; none: it stays
};

// Statements [begin, end) that repeat after `period` statements.
struct Run {
  size_t begin = 0, end = 0, period = 0;
  bool light = false;  // without a product
};

// Parses a function. The statements after its last product, such as updates of weights, are put into an order in which
// equal computations follow each other; `runs` are these.
Body parse_body(const std::vector<Statement>& statements, const Refs& arguments,
                const Refs& results, const std::vector<StateStack>& stacks, std::vector<Run>& runs);

// The way in which a statement of a layer reads an operand.
struct LayerOperand {
  enum class From {
    outside,   // the same value in each turn
    layer,     // a result of the same turn
    earlier,   // the result of `turns` turns before
    each_turn  // another value from outside in each turn
  };
  From from = From::outside;
  int32_t statement = 0, result = 0;  // layer, earlier: the place of the result in the layer
  int32_t turns = 0;
  // Values. outside: the one; earlier: for the first `turns` turns; each_turn: for each turn.
  std::vector<int32_t> each;
};

// A layer that is repeated `count` times.
struct Layer {
  size_t begin = 0, period = 0;  // statements [begin, end())
  int64_t count = 0;
  std::vector<std::vector<LayerOperand>> operands;  // by statement of the layer, by operand
  std::vector<std::vector<std::string>>
      constants;  // by statement: the literals, if they differ between turns
  size_t end() const { return begin + period * static_cast<size_t>(count); }
};

// The layers of a function, in its order. runs: those of parse_body(). fewest_turns: of a loop with a product.
// collectives: whether a loop may have some.
std::vector<Layer> find_layers(const Body& body, const std::vector<Run>& runs, int64_t fewest_turns,
                               bool collectives);

int64_t elements_of(const Ref& r);
bool has_product(const Body::Parsed& s);  // of matrices, or a convolution

}  // namespace hone::xla

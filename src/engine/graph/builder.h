// Builds programs: appends nodes, infers their types, keeps the current scope name and phase.
// A wrong call is a mistake of the author of a model or pass, not of the user. The Error of check_node() or of
// the op's infer() is then thrown as a BuildError, which hone reports as a bug.
#pragma once

#include <string>

#include "engine/graph/op.h"

namespace hone {

// An Error as an exception, for builder code that does not return a Result.
class BuildError : public std::runtime_error {
 public:
  explicit BuildError(Error e) : std::runtime_error(e.text()), error(std::move(e)) {}
  Error error;
};

class Builder {
 public:
  explicit Builder(Program& program) : program_(program) {}

  Program& program() { return program_; }
  const Type& type(ValueId v) const { return program_.type(v); }

  // Appends a node and returns its outputs. Operands are in the op's order; kNoValue: an absent one, which may be
  // left out at the end. Throws BuildError if check_node() or infer() fails; an unknown op is a Bug.
  Values emit(std::string_view op, Values in, Attrs attrs = {});
  // Appends a node and returns its first output.
  ValueId emit1(std::string_view op, Values in, Attrs attrs = {}) {
    return emit(op, std::move(in), std::move(attrs))[0];
  }

  // Scope names nest with dots: Scope s(b, "h.3"); Scope t(b, "attn") -> "h.3.attn".
  class Scope {
   public:
    Scope(Builder& b, const std::string& name) : b_(b), saved_(b.scope_) {
      b.scope_ = saved_.empty() ? name : saved_ + "." + name;
    }
    ~Scope() { b_.scope_ = saved_; }
    Scope(const Scope&) = delete;

   private:
    Builder& b_;
    std::string saved_;
  };
  const std::string& scope() const { return scope_; }
  void set_scope(std::string s) { scope_ = std::move(s); }
  Phase phase() const { return phase_; }  // the phase of the nodes that emit() appends
  void set_phase(Phase p) { phase_ = p; }

 private:
  Program& program_;
  std::string scope_;
  Phase phase_ = Phase::forward;
};

}  // namespace hone

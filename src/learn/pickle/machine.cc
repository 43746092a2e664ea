// The opcodes of protocols 2 to 5, and those of the older ones that are still written.
#include "learn/pickle/machine.h"

#include <bit>

namespace hone {

Status PickleMachine::step(uint8_t opcode) {
  switch (opcode) {
    case 0x80:  // PROTO
      if (const int protocol = HONE_TRY(number<uint8_t>()); protocol > 5)
        return damaged(fmt::format("protocol {} is not known", protocol));
      return Ok{};
    case 0x95:  // FRAME
      HONE_TRY(number<uint64_t>());
      return Ok{};
    case '.':
      out_.root_ = HONE_TRY(pop());
      stopped_ = true;
      return Ok{};
    case '(':
      marks_.push_back(stack_.size());
      cost_ += static_cast<int64_t>(sizeof(size_t));
      return Ok{};
    case '0':  // POP: a mark when nothing is on it
      if (!marks_.empty() && stack_.size() == marks_.back()) {
        marks_.pop_back();
        return Ok{};
      }
      HONE_TRY(pop());
      return Ok{};
    case '1':  // POP_MARK
      HONE_TRY(pop_to_mark());
      return Ok{};
    case '2':  // DUP
      push(HONE_TRY(top()));
      return Ok{};

    case 'q':
      return remember(HONE_TRY(number<uint8_t>()));
    case 'r':
      return remember(HONE_TRY(number<uint32_t>()));
    case 0x94:  // MEMOIZE
      return remember(remembered_);
    case 'h':
      return recall(HONE_TRY(number<uint8_t>()));
    case 'j':
      return recall(HONE_TRY(number<uint32_t>()));
    default:
      return value_step(opcode);
  }
}

Status PickleMachine::value_step(uint8_t opcode) {
  switch (opcode) {
    case 'N':
      push(kNone);
      return Ok{};
    case 0x88:
      push(kTrue);
      return Ok{};
    case 0x89:
      push(kFalse);
      return Ok{};
    case 'J':
      push(integer(HONE_TRY(number<int32_t>())));
      return Ok{};
    case 'K':
      push(integer(HONE_TRY(number<uint8_t>())));
      return Ok{};
    case 'M':
      push(integer(HONE_TRY(number<uint16_t>())));
      return Ok{};
    case 0x8a:  // LONG1
      push(long_integer(HONE_TRY(counted<uint8_t>())));
      return Ok{};
    case 0x8b:  // LONG4
      push(long_integer(HONE_TRY(counted<int32_t>())));
      return Ok{};
    case 'G':  // BINFLOAT, most significant byte first
      push(real(std::bit_cast<double>(__builtin_bswap64(HONE_TRY(number<uint64_t>())))));
      return Ok{};

    case 0x8c:  // SHORT_BINUNICODE
    case 'U':   // SHORT_BINSTRING
      push(view(Kind::text, HONE_TRY(counted<uint8_t>())));
      return Ok{};
    case 'X':  // BINUNICODE
      push(view(Kind::text, HONE_TRY(counted<uint32_t>())));
      return Ok{};
    case 'T':  // BINSTRING
      push(view(Kind::text, HONE_TRY(counted<int32_t>())));
      return Ok{};
    case 0x8d:  // BINUNICODE8
      push(view(Kind::text, HONE_TRY(counted<uint64_t>())));
      return Ok{};
    case 'C':  // SHORT_BINBYTES
      push(view(Kind::bytes, HONE_TRY(counted<uint8_t>())));
      return Ok{};
    case 'B':  // BINBYTES
      push(view(Kind::bytes, HONE_TRY(counted<uint32_t>())));
      return Ok{};
    case 0x8e:  // BINBYTES8
    case 0x96:  // BYTEARRAY8
      push(view(Kind::bytes, HONE_TRY(counted<uint64_t>())));
      return Ok{};
    default:
      return container_step(opcode);
  }
}

Status PickleMachine::container_step(uint8_t opcode) {
  switch (opcode) {
    case ']':
      push(make(Kind::list));
      return Ok{};
    case ')':
      push(make(Kind::tuple));
      return Ok{};
    case '}':
      push(make(Kind::dict));
      return Ok{};
    case 0x8f:
      push(make(Kind::set));
      return Ok{};
    case 't':
      push_container(Kind::tuple, HONE_TRY(pop_to_mark()));
      return Ok{};
    case 0x85:
    case 0x86:
    case 0x87:
      return push_tuple(opcode - 0x84);
    case 0x91:  // FROZENSET
      push_container(Kind::set, HONE_TRY(pop_to_mark()));
      return Ok{};
    case 'a': {
      const Ref item = HONE_TRY(pop());
      return add({item}, false);
    }
    case 'e':   // APPENDS
    case 0x90:  // ADDITEMS
      return add(HONE_TRY(pop_to_mark()), false);
    case 's': {
      const Ref item = HONE_TRY(pop()), key = HONE_TRY(pop());
      return add({key, item}, true);
    }
    case 'u':  // SETITEMS
      return add(HONE_TRY(pop_to_mark()), true);
    default:
      return object_step(opcode);
  }
}

Status PickleMachine::object_step(uint8_t opcode) {
  switch (opcode) {
    case 'c': {  // GLOBAL
      const Ref module = view(Kind::text, HONE_TRY(line()));
      const Ref name = view(Kind::text, HONE_TRY(line()));
      push(global(module, name));
      return Ok{};
    }
    case 0x93: {  // STACK_GLOBAL
      const Ref name = HONE_TRY(pop()), module = HONE_TRY(pop());
      if (kind(name) != Kind::text || kind(module) != Kind::text)
        return damaged("a class has no name");
      push(global(module, name));
      return Ok{};
    }
    case 'R':     // REDUCE
    case 0x81: {  // NEWOBJ
      const Ref args = HONE_TRY(pop()), callable = HONE_TRY(pop());
      push_object(callable, args);
      return Ok{};
    }
    case 0x92: {  // NEWOBJ_EX
      const Ref named = HONE_TRY(pop()), args = HONE_TRY(pop()), callable = HONE_TRY(pop());
      if (kind(named) != Kind::dict) return damaged("named arguments are not a dict");
      std::vector<Ref> all = kind(args) == Kind::tuple ? box(args).items : std::vector<Ref>{args};
      cost_ += static_cast<int64_t>(all.size() * sizeof(Ref));
      all.push_back(named);
      push_container(Kind::tuple, std::move(all));
      push_object(callable, HONE_TRY(pop()));
      return Ok{};
    }
    case 'b': {  // BUILD
      const Ref state = HONE_TRY(pop()), object = HONE_TRY(top());
      if (kind(object) == Kind::object) box(object).state = state;
      return Ok{};
    }
    case 'Q': {  // BINPERSID
      const Ref about = HONE_TRY(pop()), r = make(Kind::persistent);
      box(r).args = about;
      push(r);
      return Ok{};
    }
    default:
      return old_step(opcode);
  }
}

Result<Pickle> Pickle::read(std::string_view bytes, const std::string& name) {
  if (bytes.size() >= PickleMachine::kMaxBytes)
    return Error(err::kPickleLimit, fmt::format("'{}' has a pickle of {} bytes; {} are the limit",
                                                name, bytes.size(), PickleMachine::kMaxBytes));
  return PickleMachine(bytes, name).run();
}

}  // namespace hone

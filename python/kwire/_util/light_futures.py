"""Futures and tasks of a `LightLoop`. They behave like those of asyncio, in Python instead of C."""

from __future__ import annotations

from kwire._util.light_typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator

__all__ = ["CancelledError", "Future", "Gathering", "Scheduler", "Task"]

T = TypeVar("T")


class Scheduler(Protocol):
    """The loop of a task.

    Attributes:
        tasks: the tasks that have not ended.
        running_task: the task that runs at the moment.
    """

    tasks: set[Task[Any]]
    running_task: Task[Any] | None

    def call_soon(self, function: Callable[..., object], *arguments: object) -> object:
        """Make a call in the next round."""


class CancelledError(BaseException):
    """A task or a future was canceled."""


class Future(Generic[T]):
    """A result that exists later.

    Attributes:
        value: the result, once there is one.
        error: the error in place of a result.
    """

    __slots__ = ("_callbacks", "_is_done", "_loop", "error", "value")

    value: T

    def __init__(self, loop: Scheduler) -> None:
        self._loop = loop
        self._callbacks: list[Callable[[Self], object]] = []
        self._is_done = False
        self.error: BaseException | None = None

    def done(self) -> bool:
        """Return whether there is a result or an error."""
        return self._is_done

    def cancelled(self) -> bool:
        """Return whether it was canceled."""
        return isinstance(self.error, CancelledError)

    def result(self) -> T:
        """Return the result. Raises the error."""
        if not self._is_done:
            raise RuntimeError("the future has no result yet")
        if self.error is not None:
            raise self.error
        return self.value

    def exception(self) -> BaseException | None:
        """Return the error. Raises CancelledError."""
        if not self._is_done:
            raise RuntimeError("the future has no result yet")
        if isinstance(self.error, CancelledError):
            raise self.error
        return self.error

    def set_result(self, result: T) -> None:
        """Set the result."""
        self._check_open()
        self.value = result
        self._finish()

    def set_exception(self, error: BaseException) -> None:
        """Set the error."""
        self._check_open()
        self.error = error
        self._finish()

    def cancel(self) -> bool:
        """Cancel, and return False if there is a result already."""
        if self._is_done:
            return False
        self.set_exception(CancelledError())
        return True

    def add_done_callback(self, callback: Callable[[Self], object]) -> None:
        """Call a function with the future soon after it is done."""
        if self._is_done:
            self._loop.call_soon(callback, self)
        else:
            self._callbacks.append(callback)

    def remove_done_callback(self, callback: Callable[[Self], object]) -> None:
        """Do not call a function."""
        self._callbacks = [other for other in self._callbacks if other != callback]

    def __await__(self) -> Generator[Future[T], None, T]:
        if not self._is_done:
            yield self
        return self.result()

    def _check_open(self) -> None:
        if self._is_done:
            raise RuntimeError("the future has a result already")

    def _finish(self) -> None:
        self._is_done = True
        for callback in self._callbacks:
            self._loop.call_soon(callback, self)
        self._callbacks.clear()


class Task(Future[T]):
    """A coroutine that runs in a loop."""

    __slots__ = ("_cancellations", "_coroutine", "_is_cancel_due", "_waits_for")

    def __init__(self, loop: Scheduler, coroutine: Coroutine[Any, Any, T]) -> None:
        super().__init__(loop)
        self._coroutine = coroutine
        self._waits_for: Future[Any] | None = None
        self._is_cancel_due = False
        self._cancellations = 0
        loop.tasks.add(self)
        loop.call_soon(self._step)

    def cancel(self) -> bool:
        """Raise CancelledError where the coroutine waits, and return False if it has ended."""
        if self._is_done:
            return False
        self._cancellations += 1
        if self._waits_for is None or not self._waits_for.cancel():
            self._is_cancel_due = True
        return True

    def uncancel(self) -> int:
        """Take back one cancellation, and return the number that is left."""
        self._cancellations = max(self._cancellations - 1, 0)
        return self._cancellations

    def cancelling(self) -> int:
        """Return the number of cancellations that were not taken back."""
        return self._cancellations

    def _step(self, error: BaseException | None = None) -> None:
        """Run the coroutine until it waits again."""
        if self._is_cancel_due:
            error, self._is_cancel_due = CancelledError(), False
        self._waits_for = None
        loop, previous = self._loop, self._loop.running_task
        loop.running_task = self
        try:
            awaited = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
        except StopIteration as end:
            # A cancellation that came during the last step counts, as in asyncio.
            loop.tasks.discard(self)
            if self._is_cancel_due:
                self.set_exception(CancelledError())
            else:
                self.set_result(end.value)
        except BaseException as raised:
            loop.tasks.discard(self)
            self.set_exception(raised)
            if isinstance(raised, (KeyboardInterrupt, SystemExit)):
                raise
        else:
            self._wait(awaited)
        finally:
            loop.running_task = previous

    def _wait(self, awaited: object) -> None:
        """Run the next step once the coroutine need not wait any more."""
        if awaited is None:  # until the next round
            self._loop.call_soon(self._step)
        elif isinstance(awaited, Future):
            self._waits_for = awaited
            awaited.add_done_callback(self._wake)
            if self._is_cancel_due and awaited.cancel():
                self._is_cancel_due = False
        else:
            self._loop.call_soon(self._step, RuntimeError(f"{type(awaited).__name__} belongs to another event loop"))

    def _wake(self, future: Future[Any]) -> None:
        self._step(future.error)


class Gathering(Future[list[Any]]):
    """The results of several futures. Canceling it cancels all of them."""

    __slots__ = ("_children", "_is_cancel_requested", "_left", "_returns_errors")

    def __init__(self, loop: Scheduler, children: list[Future[Any]], *, return_exceptions: bool) -> None:
        super().__init__(loop)
        self._children = children
        self._left = len(children)
        self._returns_errors = return_exceptions
        self._is_cancel_requested = False
        for child in children:
            child.add_done_callback(self._child_done)
        if not children:
            self.set_result([])

    def cancel(self) -> bool:
        if self._is_done:
            return False
        canceled = [child.cancel() for child in self._children]  # all of them: `any` would end with the first one
        self._is_cancel_requested = any(canceled)
        return self._is_cancel_requested

    def _child_done(self, child: Future[Any]) -> None:
        self._left -= 1
        if self._is_done:
            return
        if child.error is not None and not self._returns_errors:
            self.set_exception(child.error)
        elif self._left == 0 and self._is_cancel_requested:
            self.set_exception(CancelledError())
        elif self._left == 0:
            self.set_result([other.value if other.error is None else other.error for other in self._children])

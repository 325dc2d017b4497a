"""Cases of torch_test.py: calls on several streams, and calls captured in CUDA graphs."""

import torch
import torch.distributed as dist


def asynchronous(rank):
    """Many calls under way, waited for at the end, in another order."""
    tensors = [rank.pattern(1000 * (i + 1), torch.float32) for i in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for work in reversed(works):
        work.wait()
    for tensor in tensors:
        rank.equal(f"{tensor.numel()}", tensor, rank.reduced(tensor.numel(), torch.float32))


def side_stream(rank):
    """Inputs are computed and results used on a stream of the caller's, and nothing waits on the host."""
    rank.need_device("streams")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    results = []
    with torch.cuda.stream(side):
        for i in range(30):
            # Slow on purpose: a call that did not wait for its input would read what was there before.
            tensor = rank.pattern(65537, torch.float32)
            for _ in range(20):
                tensor = tensor + 1
            work = dist.all_reduce(tensor, async_op=True)
            work.wait()
            results.append((i, tensor * 2))
    torch.cuda.current_stream().wait_stream(side)
    expected = 2 * (rank.reduced(65537, torch.float32) + 20 * rank.size)
    for i, result in results:
        rank.equal(f"call {i}", result, expected)


def several_streams(rank):
    """Calls of one communicator from streams in turn; each waits for its own input only."""
    rank.need_device("streams")
    streams = [torch.cuda.Stream() for _ in range(3)]
    results = []
    for i in range(12):
        stream = streams[i % 3]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            tensor = rank.pattern(10007, torch.float32) + i
            dist.all_reduce(tensor)
            results.append((i, tensor))
    for stream in streams:
        torch.cuda.current_stream().wait_stream(stream)
    for i, tensor in results:
        rank.equal(f"call {i}", tensor, rank.reduced(10007, torch.float32) + i * rank.size)


def two_communicators(rank):
    """Two groups on two streams, with calls in the same order on every rank."""
    rank.need_device("streams")
    groups = [dist.new_group(list(range(rank.size))) for _ in range(2)]
    streams = [torch.cuda.Stream() for _ in groups]
    results = []
    for i in range(10):
        for group, stream in zip(groups, streams):
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                tensor = rank.pattern(5003, torch.float32) * (i + 1)
                dist.all_reduce(tensor, group=group)
                results.append((i, tensor))
    rank.synchronize()
    for i, tensor in results:
        rank.equal(f"call {i}", tensor, (i + 1) * rank.reduced(5003, torch.float32))
    for group in groups:
        dist.destroy_process_group(group)


def captured(calls, mode):
    """A graph of what `calls` does; the calls were made once before, as PyTorch asks."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        calls()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        calls()
    return graph


def graph_all_reduce(rank, mode="global"):
    rank.need_device("graphs")
    for count in (1, 1023, 300007):
        source = torch.zeros(count, device=rank.device)
        target = torch.zeros(count, device=rank.device)

        def calls(source=source, target=target):
            target.copy_(source)
            dist.all_reduce(target)

        graph = captured(calls, mode)
        for replay in range(8):
            source.copy_(rank.pattern(count, torch.float32) + replay)
            graph.replay()
            expected = rank.reduced(count, torch.float32) + replay * rank.size
            rank.equal(f"{count}, replay {replay}", target, expected)
        # Back to back, without a look between them.
        source.copy_(rank.pattern(count, torch.float32))
        for _ in range(20):
            graph.replay()
        rank.equal(f"{count}, after many", target, rank.reduced(count, torch.float32))
        rank.synchronize()
        del graph


def graph_in_thread_mode(rank):
    """The mode in which other threads of the process may call CUDA during the capture."""
    graph_all_reduce(rank, "thread_local")


def graph_of_many_calls(rank):
    """Different collectives with arithmetic between them, as in a training step."""
    rank.need_device("graphs")
    count = 4099
    source = torch.zeros(count * rank.size, device=rank.device)
    part = torch.zeros(count, device=rank.device)
    whole = torch.zeros(count * rank.size, device=rank.device)
    total = torch.zeros(1, device=rank.device)

    def calls():
        dist.reduce_scatter_tensor(part, source)
        part.mul_(2)
        dist.all_gather_into_tensor(whole, part)
        total.copy_(part.sum())
        dist.all_reduce(total)
        dist.broadcast(part, src=0)

    graph = captured(calls, "global")
    for replay in range(5):
        source.copy_(rank.pattern(count * rank.size, torch.float32) + replay)
        graph.replay()
        expected = 2 * (rank.reduced(count * rank.size, torch.float32) + replay * rank.size)
        rank.equal(f"replay {replay}: gathered", whole, expected)
        rank.equal(f"replay {replay}: broadcast", part, expected[:count])
        rank.near(f"replay {replay}: total", total, expected.double().sum().reshape(1), 1e-6)
    rank.synchronize()
    del graph


def graph_among_calls(rank):
    """Replays between calls that are not captured, on the same communicator."""
    rank.need_device("graphs")
    target = torch.zeros(1023, device=rank.device)

    def calls():
        target.copy_(rank_pattern)
        dist.all_reduce(target)

    rank_pattern = rank.pattern(1023, torch.float32)
    graph = captured(calls, "global")
    for i in range(5):
        graph.replay()
        other = rank.pattern(2001, torch.float32) + i
        dist.all_reduce(other)
        rank.equal(f"{i}: replay", target, rank.reduced(1023, torch.float32))
        rank.equal(f"{i}: call", other, rank.reduced(2001, torch.float32) + i * rank.size)
    rank.synchronize()
    del graph


CASES = {
    function.__name__: function
    for function in (
        asynchronous, side_stream, several_streams, two_communicators, graph_all_reduce, graph_in_thread_mode,
        graph_of_many_calls, graph_among_calls,
    )
}

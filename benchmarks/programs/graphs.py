"""Programs on graphs of nodes and edges."""

from __future__ import annotations

import numpy as np

from .registry import Library, Training, program, slower


def _graph(count=200, features=32, classes=5, degree=4):
    """Features, labels, edges (sources, targets), which nodes are for training."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, count)
    x = (rng.normal(0, 1, (classes, features))[labels] + rng.normal(0, 1, (count, features))).astype("float32")
    source, target = np.repeat(np.arange(count), degree), rng.integers(0, count, count * degree)
    edges = np.stack([np.r_[source, target, np.arange(count)], np.r_[target, source, np.arange(count)]])
    return x, labels, edges, rng.uniform(size=count) < 0.5


@program("graph convolutional network on a normalized adjacency matrix, trained on masked nodes")
def gcn(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    x, y, edges, mask = _graph()
    adjacency = np.zeros((len(x), len(x)), "float32")
    adjacency[edges[0], edges[1]] = 1
    degree = adjacency.sum(1) ** -0.5
    a = lib.tensor(degree[:, None] * adjacency * degree)

    class GCN(nn.Module):
        def __init__(self):
            super().__init__()
            self.gc1, self.gc2 = nn.Linear(32, 64, bias=False), nn.Linear(64, 5, bias=False)

        def forward(self, x, adj):
            x = F.relu(torch.mm(adj, self.gc1(x)))
            return F.log_softmax(torch.mm(adj, self.gc2(x)), dim=1)

    model = lib.filled(GCN())
    optimizer = optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    x, y, mask = lib.tensor(x), lib.tensor(y), lib.tensor(mask)

    @lib.compiles
    def step():
        optimizer.zero_grad()
        output = model(x, a)
        loss = F.nll_loss(output[mask], y[mask])
        loss.backward()
        optimizer.step()
        accuracy = (output.argmax(1) == y)[mask].float().mean()
        return loss, accuracy

    return Training(step, lambda i: (), slower(optimizer))


@program("graph attention network over edge lists: softmax by scatter")
def gat(lib: Library) -> Training:
    torch, nn, F, optim, _ = lib
    x, y, edges, mask = _graph()
    nodes = len(x)

    class Layer(nn.Module):
        def __init__(self, c_in, c_out, heads):
            super().__init__()
            self.heads, self.width = heads, c_out
            self.linear = nn.Linear(c_in, heads * c_out, bias=False)
            self.source = nn.Parameter(lib.parameter(1, heads, c_out, seed=1, scale=0.1).detach())
            self.target = nn.Parameter(lib.parameter(1, heads, c_out, seed=2, scale=0.1).detach())

        def forward(self, x, edge_index):
            source, target = edge_index
            h = self.linear(x).view(-1, self.heads, self.width)
            score = (h * self.source).sum(-1)[source] + (h * self.target).sum(-1)[target]
            score = F.leaky_relu(score, 0.2)
            score = (score - score.max()).exp()
            total = torch.zeros(nodes, self.heads).index_add(0, target, score)
            alpha = score / (total[target] + 1e-16)
            out = torch.zeros(nodes, self.heads, self.width)
            index = target.view(-1, 1, 1).expand(-1, self.heads, self.width)
            return out.scatter_add(0, index, h[source] * alpha.unsqueeze(-1)).flatten(1)

    class GAT(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = Layer(32, 8, 4), Layer(32, 5, 1)

        def forward(self, x, edge_index):
            return self.second(F.elu(self.first(x, edge_index)), edge_index)

    model = lib.filled(GAT())
    optimizer = optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
    x, y, edges = lib.tensor(x), lib.tensor(y), lib.tensor(edges)
    train = lib.tensor(np.flatnonzero(mask))

    @lib.compiles
    def step():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x, edges)[train], y[train])
        loss.backward()
        optimizer.step()
        return loss

    return Training(step, lambda i: (), slower(optimizer))

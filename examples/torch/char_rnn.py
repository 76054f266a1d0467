"""A character LSTM trained by truncated backpropagation through time.

    python examples/torch/char_rnn.py [--epochs 3] [--compile]

The text is Python's own language reference, `pydoc_data.topics`. Each batch goes on where the one before it ended; the hidden
state is carried over, its history is not.
"""

import argparse
import math
from pydoc_data.topics import topics

import numpy as np

import staticgrad as torch
import staticgrad.nn as nn
import staticgrad.nn.functional as F
import staticgrad.optim as optim


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp=32, nhid=64, nlayers=2, dropout=0.0):
        super(RNNModel, self).__init__()
        self.ntoken, self.nhid, self.nlayers = ntoken, nhid, nlayers
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid, nlayers, dropout=dropout)
        self.decoder = nn.Linear(nhid, ntoken)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.ntoken)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return weight.new_zeros(self.nlayers, bsz, self.nhid), weight.new_zeros(self.nlayers, bsz, self.nhid)


def batchify(data, bsz):
    """The text as bsz columns that are read side by side: (length, bsz)."""
    nbatch = data.size(0) // bsz
    return data.narrow(0, 0, nbatch * bsz).view(bsz, -1).t().contiguous()


def get_batch(source, i, bptt):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i : i + seq_len], source[i + 1 : i + 1 + seq_len].view(-1)


def repackage_hidden(h):
    """The hidden state without its history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


def initialize(model, rng):
    """Weights from NumPy's generator: the same whatever library runs the program."""
    for p in model.parameters():
        p.data = torch.from_numpy(rng.uniform(-0.1, 0.1, tuple(p.shape)).astype("float32"))


def train(steps=None, epochs=3, bsz=16, bptt=20, clip=0.25, compiled=False, report=None):
    """The loss of each step."""
    torch.manual_seed(1111)
    rng = np.random.default_rng(1111)
    text = "\n\n".join(topics[name] for name in ("lambda", "class", "function", "for", "try"))
    chars = sorted(set(text))
    codes = {c: i for i, c in enumerate(chars)}
    data = batchify(torch.tensor([codes[c] for c in text]).type(torch.LongTensor), bsz)
    model = RNNModel(len(chars)).to("cpu")
    initialize(model, rng)
    criterion = nn.NLLLoss()
    optimizer = optim.RMSprop(model.parameters(), lr=2e-3, alpha=0.95)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=100, gamma=0.5)
    model.train()

    def step(data, targets, hidden):
        optimizer.zero_grad()
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss, hidden

    if compiled:
        step = torch.compile(step)

    losses = []
    for epoch in range(1, epochs + 1):
        hidden, total_loss, batches = model.init_hidden(bsz), 0.0, 0
        for batch, i in enumerate(range(0, data.size(0) - 1, bptt)):
            inputs, targets = get_batch(data, i, bptt)
            hidden = repackage_hidden(hidden)
            loss, hidden = step(inputs, targets, hidden)
            scheduler.step()
            total_loss, batches = total_loss + loss.item(), batch + 1
            losses.append(loss.item())
            if len(losses) == steps:
                return losses
        if report:
            mean = total_loss / batches
            report("| epoch {:3d} | loss {:5.2f} | ppl {:8.2f}".format(epoch, mean, math.exp(mean)))
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="character LSTM, truncated BPTT")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--compile", action="store_true")
    arguments = parser.parse_args()
    train(epochs=arguments.epochs, compiled=arguments.compile, report=print)
